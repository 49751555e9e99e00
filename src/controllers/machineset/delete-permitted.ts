// Deletes a machine of a set: one that is in service only while its permit is Granted on the server, read right before.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { permitAnswer } from '#permits/permits.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import { goneIsDone } from './actions.ts'
import { isInService, uidOf } from './seen.ts'

export async function deletePermitted(
  client: KubeClient,
  now: Machine,
  permit: string | undefined,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  if (isInService(now)) {
    if (permit === undefined) return outdated('the machine has gone into service')
    const read = await outcomeOf(() => client.get(operationPermit, { name: permit }, { signal }))
    if (read.kind !== 'Applied') return read
    if (permitAnswer(read.object, uidOf(now)).kind !== 'Granted') return outdated('the permit is no longer Granted')
  }
  return deleteExactly(client, machineType, now, { propagationPolicy: 'Background' }).then(goneIsDone)
}
