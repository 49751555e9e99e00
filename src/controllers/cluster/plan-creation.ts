// Decides which Clusters may be created now if a policy limits concurrent creations. Oldest first. Pure.
import type { Reason } from '#api/catalogue.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { isBeingDeleted } from '#api/schema/object-meta.ts'
import { counted } from '#lib/counted.ts'
import type { Wait } from '#runtime/waiting.ts'
import { type Seen } from './seen.ts'

export const CREATION_LIMIT = 'CreationLimit'

const orderOf = ({ metadata: { creationTimestamp = '', namespace = '', name = '' } }: Cluster): string =>
  `${creationTimestamp} ${namespace}/${name}`

/** Never Ready so far. */
const isNew = (cluster: Cluster): boolean => (cluster.status?.history ?? []).length === 0 && !isBeingDeleted(cluster)

const isBegun = ({ status }: Cluster): boolean => status?.phase === 'Creating' || status?.phase === 'Addons'

/** It waits for a person, not for its turn. A permanent error must not block all younger Clusters. */
const isStuck = (cluster: Cluster): boolean => {
  const { waitingFor, phase } = cluster.status ?? {}
  return (
    waitingFor !== undefined && waitingFor.predicate !== CREATION_LIMIT && (phase === 'Pending' || phase === 'Failed')
  )
}

export function tooManyCreated({ cluster, plane, caps, hosted }: Seen): Wait<Reason> | undefined {
  const { maxCreating } = caps
  if (maxCreating === undefined || plane !== undefined) return undefined
  const own = orderOf(cluster)
  const ahead = hosted.filter(
    (other) =>
      other.metadata.uid !== cluster.metadata.uid &&
      isNew(other) &&
      (isBegun(other) || (orderOf(other) < own && !isStuck(other))),
  ).length
  if (ahead < maxCreating) return undefined
  return {
    predicate: CREATION_LIMIT,
    seen: `${counted(ahead, 'Cluster')} being created or before it; a policy allows ${maxCreating} at once`,
    unblock: 'one of them is Ready or deleted, or the policy allows more',
  }
}
