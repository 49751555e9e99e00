// A hub with the shipped definitions, roles and policies, and clients of it as an administrator and as the program of clusters.
import { programUser } from '#api/names.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { startEmbedded } from '../servers/api-servers.ts'
import { installedStorage } from '../servers/installed.ts'

export async function shippedHub() {
  const hub = await startEmbedded({ storage: await installedStorage() })
  const connection = {
    server: hub.url,
    ca: { data: hub.ca },
    clientCertificate: { cert: { data: hub.cert }, key: { data: hub.key } },
  }
  const admin = new HttpKubeClient(connection)
  const clients: HttpKubeClient[] = []
  const as = (user: string): HttpKubeClient => {
    const client = new HttpKubeClient({ ...connection, impersonate: { user } })
    clients.push(client)
    return client
  }
  const program = as(programUser('cluster'))
  return {
    admin,
    program,
    as,
    close: async () => {
      admin.close()
      for (const client of clients) client.close()
      await hub.stop()
    },
  }
}
