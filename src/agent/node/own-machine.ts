// Whether the agent's Machine exists, read right now. Without it the agent creates nothing new on the server, because it would never be deleted.
import type { KubeClient } from '#kube/client.ts'
import { machine as machineType } from '#api/kinds/machine.ts'

/** `uid`: of the Machine that the certificate is for; a later Machine with the same name does not count. */
export async function isMachineThere(
  client: Pick<KubeClient, 'get'>,
  name: string,
  uid: string | undefined,
): Promise<boolean> {
  const found = await client.get(machineType, { name })
  return found !== undefined && (uid === undefined || found.metadata.uid === uid)
}
