// The permit for one change of a control plane. Each change has its own permit. Pure.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { type Holding, PACE_OF_ONE, actionsOf, holdPermit, reportOf } from '#permits/holder.ts'
import { LEASES } from '#permits/leases.ts'
import type { PermitAction } from '#permits/permit-actions.ts'
import { isNamed, namesOf, nextPermitName, numbered } from '#permits/permit-names.ts'
import { commitOf, requesterOf, targetRef } from '#permits/permits.ts'
import type { Seen } from './seen.ts'

/** Object names have at most 253 characters. */
const MOST_NAME_CHARS = 100

const CHANGES = ['ChangeControlPlane'] as const
/** A deletion counts against a policy's limits for all changes, and against those for deletions. */
export const DELETES = ['ChangeControlPlane', 'DeleteControlPlane'] as const

type PermitStep = Holding & { readonly actions: readonly PermitAction[]; readonly afterMs?: number }

/** The work under a permit is done. */
export const finished = ({ cluster }: Seen, permit: OperationPermit, reason = 'it is done'): readonly PermitAction[] =>
  reportOf(permit, cluster.metadata.uid ?? '', 'Succeeded', reason)

/** `what` describes the change in characters that a name allows. */
export function permitFor(
  { cluster, permits, endedFor }: Seen,
  what: string,
  reason: string,
  now: number,
  operations: typeof CHANGES | typeof DELETES = CHANGES,
): PermitStep {
  const { name = '', uid = '' } = cluster.metadata
  const change = what.replaceAll('.', '-').replaceAll('/', '-')
  const names = numbered(`cluster-${name.slice(0, MOST_NAME_CHARS)}-${uid.slice(0, 8)}-${change}-b`)
  const own = permits.filter((p) => isNamed(names, p))
  const request = {
    operations: [...operations],
    targets: [targetRef('Cluster', cluster)],
    requester: requesterOf(FIELD_MANAGERS.cluster, cluster.kind, cluster),
    reason,
    ...commitOf(cluster),
    leaseSeconds: LEASES.controlPlane,
  }
  const held = holdPermit({ permit: nextPermitName(names, namesOf(own)), request }, { own, endedFor }, PACE_OF_ONE)
  return { ...held, actions: actionsOf(held, now, 'the change is not done yet') }
}
