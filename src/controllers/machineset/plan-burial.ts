// Decides which machines without a host are replaced. Pure. A provider that loses many hosts is not believed: neither if it loses them at once, nor one
// after another.
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import { uidOf } from '#api/schema/object-meta.ts'
import { timeOfDay, timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import type { Extra, MachineSetAction } from './actions.ts'
import { MOST_REMOVALS, OUTAGE_SHARE, isOutage } from './removal/plan.ts'
import type { Seen } from './seen.ts'

const WITHIN_MS = 3_600_000
const MINUTE_MS = 60_000
/** Replaced within an hour in a set of any size. In larger sets, as many as may be lost at once. */
const LEAST_LIMIT = 3

type HostLosses = NonNullable<NonNullable<MachineSet['status']>['hostLosses']>

export const isRecent = (at: number, now: number): boolean => now - at < WITHIN_MS

/** One entry for each minute, so that the list stays short. A loss in the future counts from now on: that clock may have been days ahead. */
export function recentLosses(losses: HostLosses | undefined, now: number): HostLosses {
  const counts = new Map<number, number>()
  for (const { at, count } of losses ?? []) {
    const minute = Math.floor(Math.min(Date.parse(at), now) / MINUTE_MS) * MINUTE_MS
    if (isRecent(minute, now)) counts.set(minute, (counts.get(minute) ?? 0) + count)
  }
  return [...counts].map(([minute, count]) => ({ at: timestamp(minute), count }))
}

export const withLosses = (losses: HostLosses | undefined, count: number, now: number): HostLosses =>
  recentLosses([...(losses ?? []), { at: timestamp(now), count }], now)

const limitOf = (machines: number): number => Math.max(LEAST_LIMIT, Math.floor(machines * OUTAGE_SHARE))

export type Burial =
  | { readonly kind: 'Bury'; readonly actions: readonly MachineSetAction[] }
  /** All at once: nothing is known about the set. */
  | { readonly kind: 'Outage'; readonly extra: Extra }
  /** One after another. The set still creates and removes other machines. */
  | { readonly kind: 'Limit'; readonly extra: Extra }

export function burial(
  { set, recorded = new Map() }: Pick<Seen, 'set' | 'recorded'>,
  alive: readonly Machine[],
  zombies: readonly Machine[],
  now: number,
): Burial {
  if (isOutage(zombies.length, alive.length)) {
    const message = `the provider no longer knows ${zombies.length} of ${counted(alive.length, 'machine')}; none is replaced automatically`
    return { kind: 'Outage', extra: { freeze: { reason: 'HostsGone', message } } }
  }
  const losses = recentLosses(set.status?.hostLosses, now)
  const recent = losses.reduce((n, { count }) => n + count, 0)
  const limit = limitOf(alive.length)
  // A Machine that could not be deleted, or whose deletion the cache does not show yet, does not count twice.
  const isRecorded = (m: Machine) => isRecent(recorded.get(uidOf(m)) ?? Number.NEGATIVE_INFINITY, now)
  const most = Math.max(0, Math.min(limit - recent, MOST_REMOVALS))
  const machines = zombies.filter((m) => !isRecorded(m)).slice(0, most)
  const dead = [...machines, ...zombies.filter(isRecorded)].slice(0, MOST_REMOVALS)
  if (dead.length > 0) {
    const reason = 'its host was deleted'
    const record = machines.length === 0 ? [] : [{ kind: 'RecordLosses', machines, reason } as const]
    return {
      kind: 'Bury',
      actions: [...record, ...dead.map((machine) => ({ kind: 'Bury', machine, reason }) as const)],
    }
  }
  const first = Math.min(...losses.map(({ at }) => Date.parse(at)))
  const requeueMs = Math.max(MINUTE_MS, first + WITHIN_MS - now)
  const message = `${recent} machines were replaced within an hour because the provider no longer knew their hosts (limit ${limit}); ${zombies.length} more ${zombies.length === 1 ? 'is' : 'are'} not`
  const unblock = `the provider keeps its hosts; the next machine is replaced at ${timeOfDay(now + requeueMs, now)}`
  return {
    kind: 'Limit',
    extra: {
      freeze: { reason: 'HostsGone', message },
      waiting: { predicate: 'HostsMade', seen: message, unblock, because: 'HostsGone', requeueMs },
    },
  }
}
