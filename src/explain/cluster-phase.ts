// The phase of a Cluster as people see it: its control plane may have reached phase Ready while its condition Ready is False, for example without
// programs. Pure.
import type { ClusterStatus } from '#api/kinds/cluster.ts'
import type { Phase } from '#api/phases.ts'
import type { Condition } from '#api/schema/object.ts'
import { findCondition } from '#kube/conditions.ts'

type Seen = Pick<NonNullable<ClusterStatus>, 'phase' | 'conditions'>

/** Why a Cluster in phase Ready is not Ready. */
export function notReady({ phase, conditions }: Partial<Seen> = {}): Condition | undefined {
  const ready = phase === 'Ready' ? findCondition(conditions, 'Ready') : undefined
  return ready?.status === 'False' ? ready : undefined
}

export const shownPhase = (status: Partial<Seen> | undefined): Phase<'Cluster'> | 'NotReady' | undefined =>
  notReady(status) === undefined ? status?.phase : 'NotReady'
