// Whether the Machine that an agent belongs to exists, read right now. Without it nothing new is made for the agent on the server: nothing would delete it.
import type { KubeClient } from '#kube/client.ts'
import { machine as machineType } from '#api/kinds/machine.ts'

/** `uid`: of the Machine that the certificate is for; one of the same name after it is another one. */
export async function isMachineThere(
  client: Pick<KubeClient, 'get'>,
  name: string,
  uid: string | undefined,
): Promise<boolean> {
  const found = await client.get(machineType, { name })
  return found !== undefined && (uid === undefined || found.metadata.uid === uid)
}
