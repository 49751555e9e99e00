// The phase of a Cluster as people see it: its control plane may have reached phase Ready while its condition Ready is False, for example without
// programs, or Unknown, when its host does not answer. Pure.
import type { ClusterStatus } from '#api/kinds/cluster.ts'
import type { Phase } from '#api/phases.ts'
import type { Condition } from '#api/schema/object.ts'
import { findCondition } from '#kube/conditions.ts'

type Seen = Pick<NonNullable<ClusterStatus>, 'phase' | 'conditions'>

/** Why a Cluster in phase Ready is not Ready, or not known to be. */
export function notReady({ phase, conditions }: Partial<Seen> = {}): Condition | undefined {
  const ready = phase === 'Ready' ? findCondition(conditions, 'Ready') : undefined
  return ready?.status === 'True' ? undefined : ready
}

/** What is shown instead of phase Ready. */
const unreadyPhase = ({ status }: Pick<Condition, 'status'>): 'NotReady' | 'Unknown' =>
  status === 'Unknown' ? 'Unknown' : 'NotReady'

export const unreadyText = (why: Pick<Condition, 'status' | 'message'>, names: string): string =>
  `${unreadyPhase(why)}: ${names}: ${why.message}`

export function shownPhase(
  status: Partial<Seen> | undefined,
): Phase<'Cluster'> | ReturnType<typeof unreadyPhase> | undefined {
  const unready = notReady(status)
  return unready === undefined ? status?.phase : unreadyPhase(unready)
}
