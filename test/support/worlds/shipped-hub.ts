// A hub with the shipped definitions, roles and policies, and clients of it as an administrator and as the program of clusters.
import { CONTROL_PLANE_VERSIONS, programUser, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { ServedVersion } from '#controlplanes/kubernetes/version-file.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { startEmbedded } from '../servers/api-servers.ts'
import { REAL_VERSIONS } from './kubernetes-host-world.ts'
import { installedStorage } from '../servers/installed.ts'

/** As the people of a hub do after the install: control planes run no other images. */
export const listVersions = (admin: KubeClient, versions: readonly ServedVersion[]) =>
  admin.patch(
    coreKind('ConfigMap'),
    { namespace: SYSTEM_NAMESPACE, name: CONTROL_PLANE_VERSIONS },
    { type: 'merge', value: { data: { 'versions.json': JSON.stringify({ versions }, null, 2) } } },
  )

export async function shippedHub(versions: readonly ServedVersion[] = REAL_VERSIONS) {
  const hub = await startEmbedded({ storage: await installedStorage() })
  const connection = {
    server: hub.url,
    ca: { data: hub.ca },
    clientCertificate: { cert: { data: hub.cert }, key: { data: hub.key } },
  }
  const admin = new HttpKubeClient(connection)
  await listVersions(admin, versions)
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
