// What the Defender itself knows about an object to delete: which permits cover it, whether its Machine is being deleted, whether it serves.
import { programAccount, programUser, SOURCE_USER_PREFIX } from '#api/names.ts'
import { isApprovedPrune, type Pruning } from '#api/protocol/pruning.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { isBeingDeleted } from '#api/schema/object-meta.ts'
import type { Caches } from '../caches.ts'
import { isOutOfService, machineUnit, nodeUnit } from '../unit.ts'
import type { Deletion } from './deletion.ts'
import type { DeletionSeen } from './plan.ts'

export type About = Pick<DeletionSeen, 'grantedAs' | 'follows' | 'costsNothing'>

/** Before the caches are read, only the ledger is trusted. */
export const nothingKnown = (uid: string): About => ({
  grantedAs: uid === '' ? [] : [uid],
  follows: false,
  costsNothing: false,
})

const SYNC: ReadonlySet<string> = new Set([programUser('sync'), programAccount('sync')])
/** Only these prune. */
export const isFromGit = (user: string): boolean => SYNC.has(user) || user.startsWith(SOURCE_USER_PREFIX)

const CONTROLLERS: ReadonlySet<string> = new Set([programUser('controllers'), programAccount('controllers')])

type Cached = Pick<Caches, 'machines' | 'nodes' | 'approvals'>

export interface Surroundings {
  /** Approved deletions that sync has announced. */
  readonly prunings: readonly Pruning[]
  /** The wall clock, which approvals use. */
  readonly wall: number
}

export function aboutDeletion({ kind, group, name, uid, user }: Deletion, caches: Cached, around: Surroundings): About {
  const { machines, nodes } = caches
  const nothing = nothingKnown(uid)
  if (uid === '') return nothing
  if (isPruned(uid, caches, around)) return { ...nothing, follows: true }
  const isByControllers = CONTROLLERS.has(user)
  if (group === '' && kind === 'Node') {
    const node = nodes.list().find((n) => n.metadata.uid === uid)
    const owners = machines.list().filter((m) => m.status?.nodeRef?.uid === uid)
    return {
      grantedAs: [uid, ...owners.flatMap((m) => m.metadata.uid ?? [])],
      follows: owners.some(isBeingDeleted),
      costsNothing: isByControllers && node !== undefined && isIdle(owners[0], node),
    }
  }
  if (kind !== 'Machine') return nothing
  const machine = machines.get({ name })
  if (machine?.metadata.uid !== uid) return nothing
  const { nodeRef } = machine.status ?? {}
  const node = nodeRef === undefined ? undefined : nodes.get({ name: nodeRef.name })
  const own = node?.metadata.uid === nodeRef?.uid ? node : undefined
  const grantedAs = [uid, ...(own?.metadata.uid === undefined ? [] : [own.metadata.uid])]
  return { ...nothing, grantedAs, costsNothing: isByControllers && isIdle(machine, own) }
}

/** Approved in this cluster: an approval on the hub does not count for the Defender of a member. */
function isPruned(uid: string, { approvals }: Pick<Cached, 'approvals'>, { prunings, wall }: Surroundings): boolean {
  if (prunings.length === 0) return false
  const live = approvals.list().filter(({ spec: { until } }) => until === undefined || Date.parse(until) > wall)
  const approved = new Set(live.map(({ spec }) => spec.digest))
  return prunings.some((pruning) => isApprovedPrune(pruning, uid, approved))
}

/** Same rule as for permits: an operation on a unit that does not serve costs nothing. */
const isIdle = (machine: Machine | undefined, node: KubeObject | undefined): boolean => {
  if (machine !== undefined) return isOutOfService(machineUnit(machine, node))
  return node !== undefined && isOutOfService(nodeUnit(node))
}
