// For the embedded server: whether a certificate's holder still counts as its machine's agent. Pure. On a kube-apiserver, policies reject the holder's
// writes instead.
import { machine as machineType } from '#api/kinds/machine.ts'
import { API_GROUP } from '#api/kind.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { acceptsKey } from './agent-key.ts'
import { machineIn } from './agent-request.ts'

const MACHINES = `${API_GROUP}/${machineType.plural}`

/** An agent whose Machine was deleted keeps its certificate: a user may confirm that the host is the same one. */
export function isAcceptedUser(
  { name, groups }: { readonly name: string; readonly groups: readonly string[] },
  stored: (resource: string, name: string) => KubeObject | undefined,
): boolean {
  const machine = machineIn(name)
  if (machine === undefined) return true
  const found = stored(MACHINES, machine)
  return found === undefined || acceptsKey(found, groups)
}
