// Deletes a machine of a set. If the machine is in service, only under its permit.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { uidOf } from '#api/schema/object-meta.ts'
import type { KubeClient } from '#kube/client.ts'
import { type Authority, type Clearance, readingPermits, underPermit } from '#permits/under-permit.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import { deletedIsDone } from '../actions.ts'
import { isInService } from '../seen.ts'

export async function deletePermitted(
  client: KubeClient,
  now: Machine,
  permit: string | undefined,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const isServing = isInService(now)
  if (isServing && permit === undefined) return outdated('the machine has gone into service')
  const by: Authority = isServing && permit !== undefined ? { permit } : { exempt: 'NeverServed' }
  const act = { by, operations: ['ScaleIn'] as const, target: uidOf(now), signal }
  return underPermit(readingPermits(client), act, (clearance) => deleteMachine(clearance, client, now))
}

export const deleteMachine = (_clearance: Clearance, client: KubeClient, machine: Machine): Promise<ActionOutcome> =>
  deleteExactly(client, machineType, machine, { propagationPolicy: 'Background' }).then(deletedIsDone)
