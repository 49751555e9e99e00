// Decides which sets take over the machines of a set that is being deleted, and when a set waits for other sets' machines instead of creating its
// own. Pure.
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { isBeingDeleted, nameOf } from '#api/schema/object-meta.ts'
import { counted } from '#lib/counted.ts'
import { canTakeOver, isSelectedBy, madeAs } from '#nodes/placement/takeover.ts'
import type { Waiting } from '../actions.ts'
import { countOf } from '../removal/plan.ts'
import { type OtherSet, type Seen, isReady } from '../seen.ts'

/**
 * A renamed set arrives as two changes, in either order: the new name is applied and the old one is deleted. Sync needs seconds for both, and
 * restarts within half a minute if it is killed in between. A user who types the two commands needs longer.
 */
export const SUCCESSION_GRACE_MS = 60_000

/** Other sets and their machines matter here, but their changes do not wake this set. */
export const OTHERS_REQUEUE_MS = 5_000

const alive = ({ machines }: OtherSet): readonly Machine[] => machines.filter((m) => !isBeingDeleted(m))

/**
 * How long a set still waits for the other half of a rename, counted from the first reconcile of a new generation. The start of the wait is in the
 * status and survives a restart. A clock that was set back ends the wait.
 */
export function graceLeftMs({ metadata, status }: MachineSet, now: number): number {
  const isWaiting = status?.waitingFor?.predicate === 'Succession'
  if (!isWaiting) return status?.observedGeneration === metadata.generation ? 0 : SUCCESSION_GRACE_MS
  const since = Date.parse(status?.waitingFor?.since ?? '')
  return now < since ? 0 : Math.max(0, since + SUCCESSION_GRACE_MS - now)
}

/** Why a set that lacks machines creates none now. */
export function succession({ set, others }: Seen, now: number): Waiting | undefined {
  const shared = others
    .map((other) => ({ other, count: alive(other).filter((m) => canTakeOver(set, madeAs(m))).length }))
    .filter(({ count }) => count > 0)
  const going = shared.find(({ other }) => isBeingDeleted(other.set))
  if (going !== undefined) {
    const name = nameOf(going.other.set)
    return {
      predicate: 'Succession',
      seen: `${counted(going.count, 'machine')} of MachineSet ${name}, which is being deleted, can be taken over`,
      unblock: `MachineSet ${name} hands them over`,
      requeueMs: OTHERS_REQUEUE_MS,
    }
  }
  const [living] = shared
  const left = graceLeftMs(set, now)
  if (living === undefined || left === 0) return undefined
  return {
    predicate: 'Succession',
    seen: `MachineSet ${nameOf(living.other.set)} owns ${counted(living.count, 'machine')} that this set selects and may be deleted soon`,
    unblock: `this set creates its own machines after ${SUCCESSION_GRACE_MS / 1_000}s`,
    requeueMs: left,
  }
}

/** The set that takes over each machine: the one that lacks the most. */
export function successorsOf({ others }: Seen, machines: readonly Machine[]): ReadonlyMap<Machine, MachineSet> {
  const takers = others
    .filter(({ set }) => !isBeingDeleted(set))
    .map((other) => ({ set: other.set, lacks: other.set.spec.replicas - alive(other).length }))
  const found = new Map<Machine, MachineSet>()
  for (const m of machines.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))) {
    let best: (typeof takers)[number] | undefined
    for (const taker of takers)
      if (canTakeOver(taker.set, madeAs(m)) && (best === undefined || taker.lacks > best.lacks)) best = taker
    if (best === undefined) continue
    best.lacks--
    found.set(m, best.set)
  }
  return found
}

/** Sets that select these machines and need other hosts for them. */
export const replacementsOf = ({ others }: Seen, machines: readonly Machine[]): readonly OtherSet[] =>
  others.filter(({ set }) => !isBeingDeleted(set) && machines.some((m) => isSelectedBy(madeAs(m), set)))

/**
 * How many Ready machines may leave now. If other sets recreate them on other hosts, old and new together stay at the desired number minus
 * `maxUnavailable`. At least one may leave before its replacement exists. Fixed pools of hosts, such as provider static, need that: a host is free
 * for the new set only once its old machine has left. Without replacements, only the Defender's limits apply.
 */
export function spareOf(seen: Seen, machines: readonly Machine[]): number {
  const replacements = replacementsOf(seen, machines)
  if (replacements.length === 0) return Infinity
  const wanted = Math.min(
    seen.set.spec.replicas,
    replacements.reduce((n, { set }) => n + set.spec.replicas, 0),
  )
  const allowed = Math.max(...replacements.map(({ set: { spec } }) => countOf(spec.maxUnavailable, spec.replicas)))
  const ready = [...machines, ...replacements.flatMap(alive)].filter(isReady).length
  return Math.max(0, ready - Math.max(0, wanted - allowed))
}
