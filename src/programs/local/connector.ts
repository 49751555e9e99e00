// Connects to an API server of the local fleet.
import type { HttpKubeClient } from '#kube/http/client.ts'
import { clientOf, connectionOf, serverOf } from '../run/connect.ts'

export async function connector(file: string): Promise<{ client: HttpKubeClient; server: string; ca: string }> {
  const connection = await connectionOf(file)
  return { client: clientOf(connection.config, 'kubenode-local'), ...serverOf(connection) }
}
