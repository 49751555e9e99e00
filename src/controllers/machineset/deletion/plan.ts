// Decides what happens to the machines of a set that is being deleted: another set takes them over, they stay without an owner, or they leave under
// permits. Pure.
import { isObserved } from '#nodes/machine-node.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import { isBeingDeleted, nameOf, uidOf } from '#api/schema/object-meta.ts'
import type { MachineSetAction, MachineSetPlan } from '../actions.ts'
import { deleteOrder } from '../removal/delete-order.ts'
import { held, removals, silenceFreeze } from '../removal/plan.ts'
import { type Seen, hasFinalizer, isOwned, isZombie, openPermit } from '../seen.ts'
import { OTHERS_REQUEUE_MS, SUCCESSION_GRACE_MS, graceLeftMs, spareOf, successorsOf } from './successors.ts'
import { withPermits } from '../plan-permits.ts'

/** Machines handed over or released per reconcile. */
const MOST_MOVES = 50

/** `kubectl delete --cascade=orphan`: garbage collection removes the owner from the machines itself. */
export const isOrphaning = ({ metadata }: MachineSet): boolean => metadata.finalizers?.includes('orphan') === true

export const keepsMachines = ({ metadata }: MachineSet): boolean =>
  metadata.annotations?.[ANNOTATIONS.keepMachines] === 'true'

/** The whole cluster is being removed: no other set takes its machines over. */
const leavesWithCluster = ({ metadata }: MachineSet): boolean =>
  metadata.annotations?.[ANNOTATIONS.clusterLeaves] === 'true'

export function planDeletion(seen: Seen, now: number): MachineSetPlan {
  const { set, hold } = seen
  if (!hasFinalizer(set)) return withPermits(seen, [], {}, now)
  const owned = seen.machines.filter((m) => isOwned(m, set))
  const alive = owned.filter((m) => !isBeingDeleted(m))
  if (isOrphaning(set)) return withPermits(seen, [finish], {}, now, uidsOf(alive))
  if (keepsMachines(set)) return keeping(seen, owned, now)
  if (owned.length === 0) return withPermits(seen, [finish], {}, now)
  if (hold !== undefined) return withPermits(seen, [], held(hold), now)
  if (leavesWithCluster(set)) {
    const observed = alive.filter(isObserved).slice(0, MOST_MOVES)
    const left = observed.map((m) => release(m, 'the machine is observed only'))
    return left.length > 0 ? withPermits(seen, left, {}, now, uidsOf(observed)) : removing(seen, alive, now)
  }
  const moves = movesOf(seen, alive)
  if (moves.length > 0) {
    // The wait starts here and stays in the status. If the receiving set is deleted too, it takes nothing, and the wait for another one continues.
    const waiting = { ...WAITS_FOR_SUCCESSOR, seen: 'its machines are being handed over', requeueMs: OTHERS_REQUEUE_MS }
    return withPermits(seen, moves, { waiting }, now, uidsOf(moves.map((a) => a.machine)))
  }
  if (seen.isDeclared === true && alive.length > 0) return withPermits(seen, [], { waiting: STILL_DECLARED }, now)
  return leaving(seen, alive, now)
}

const finish: MachineSetAction = { kind: 'RemoveFinalizer', reason: 'no machine depends on it' }

/**
 * Machines that are being deleted lose their owner too. In foreground deletion, garbage collection keeps the set until they no longer exist, which
 * may be never. But the set waits for machines that leave under its own grant: the grant ends with them.
 */
function keeping(seen: Seen, owned: readonly Machine[], now: number): MachineSetPlan {
  const isLeaving = (m: Machine) => isBeingDeleted(m) && openPermit(seen, m)?.status?.phase === 'Granted'
  const free = owned.filter((m) => !isLeaving(m))
  const left = free.map((m) => release(m, `annotation ${ANNOTATIONS.keepMachines}`)).slice(0, MOST_MOVES)
  return withPermits(seen, owned.length === 0 ? [finish] : left, {}, now, uidsOf(free))
}

/**
 * A user deleted what git declares. Sync reports within a minute that the machines stay, and recreates the set. When sync deletes a set itself, it
 * first removes it from its Inventory.
 */
const STILL_DECLARED = {
  predicate: 'Succession',
  seen: 'the set was deleted although git declares it; its machines stay',
  unblock: 'sync creates the set again; to remove it, remove it from git',
  requeueMs: OTHERS_REQUEUE_MS,
} as const

const uidsOf = (machines: readonly Machine[]): ReadonlySet<string> => new Set(machines.map(uidOf))

type Move = Extract<MachineSetAction, { readonly kind: 'HandOver' | 'Release' }>

const release = (machine: Machine, reason: string): Move => ({ kind: 'Release', machine, reason })

function movesOf(seen: Seen, alive: readonly Machine[]): readonly Move[] {
  const successors = successorsOf(seen, alive)
  const moves = alive.flatMap((machine): Move[] => {
    const to = successors.get(machine)
    if (to !== undefined) return [{ kind: 'HandOver', machine, to, reason: `set ${nameOf(seen.set)} is being deleted` }]
    // No controller may delete an observed machine.
    return isObserved(machine) ? [release(machine, 'the machine is observed only')] : []
  })
  return moves.slice(0, MOST_MOVES)
}

const WAITS_FOR_SUCCESSOR = {
  predicate: 'Succession',
  seen: 'no other set has taken over its machines yet',
  unblock: `a MachineSet selects them; without one they are removed under permits after ${SUCCESSION_GRACE_MS / 1_000}s`,
} as const

function leaving(seen: Seen, alive: readonly Machine[], now: number): MachineSetPlan {
  const { set } = seen
  const left = graceLeftMs(set, now)
  if (alive.length > 0 && left > 0) {
    const waiting = { ...WAITS_FOR_SUCCESSOR, requeueMs: left }
    return withPermits(seen, [], { waiting }, now)
  }
  return removing(seen, alive, now)
}

function removing(seen: Seen, alive: readonly Machine[], now: number): MachineSetPlan {
  const { set } = seen
  // A host unknown to its provider does not suggest a network outage.
  const frozen = silenceFreeze(alive.filter((m) => !isZombie(m)))
  const how = {
    spare: leavesWithCluster(set) ? Infinity : spareOf(seen, alive),
    reason: `set ${nameOf(set)} is being deleted`,
    unblock: 'machines of the replacing sets are Ready',
  }
  const [actions, extra] = frozen === undefined ? removals(seen, deleteOrder(seen, alive), how) : [[], frozen]
  const { waiting } = extra
  const waitingPlan = { ...extra, waiting: { ...(waiting ?? deleting(alive.length)), requeueMs: OTHERS_REQUEUE_MS } }
  return withPermits(seen, actions, waitingPlan, now)
}

const deleting = (count: number) =>
  ({
    predicate: 'MachinesGone',
    seen: count === 0 ? 'the last machines of the set are being removed' : `${count} of its machines remain`,
    unblock: 'the running removals finish',
  }) as const
