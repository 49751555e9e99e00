// Scheduled snapshots of a Cluster: when the next one is due, which are dropped, and when none was verified for too long. Pure. If the clock was set
// back, one snapshot is taken early and none that counts is dropped. A snapshot from the future counts for nothing.
import { LEAST_EVERY_MS } from '#api/cluster-mistakes.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { isScheduled, SCHEDULED, type ControlPlane, type SnapshotDefault } from '#controlplanes/port.ts'
import { timestamp } from '#lib/clock.ts'
import { durationMs } from '#lib/duration.ts'
import type { Seen } from '../seen.ts'

/** How late the second snapshot may be: replacing a node of the hub must not raise an alarm. */
const GRACE_MS = 30 * 60_000

export interface Schedule {
  readonly nextAt: number
  /** The snapshot to take now. */
  readonly due: string | undefined
  readonly drop: readonly string[]
  /** When the schedule became known. Nothing was late before that. */
  readonly since: number
  /** The newest verified snapshot, scheduled or not. */
  readonly verified: { readonly name: string; readonly takenAt: string } | undefined
  /** Overdue from this time on. */
  readonly overdueAt: number
  readonly isOverdue: boolean
}

/** Undefined without a schedule. */
export function scheduleOf(seen: Pick<Seen, 'cluster' | 'plane' | 'host'>, now: number): Schedule | undefined {
  const { cluster, plane } = seen
  const declared = cluster.spec.controlPlane?.snapshots ?? hubSchedule(seen)
  if (declared === undefined) return undefined
  const everyMs = Math.max(durationMs(declared.every) ?? 0, LEAST_EVERY_MS)
  const past = (plane?.snapshots ?? []).filter((s) => Date.parse(s.takenAt) <= now)
  const last = newestOf(past.filter((s) => isScheduled(s.name)))
  const verified = newestOf(past)
  const nextAt = last === undefined ? now : Date.parse(last.takenAt) + everyMs
  const known = Date.parse(cluster.status?.snapshotSchedule?.since ?? '')
  const since = known <= now ? known : now
  const overdueAt = Math.max(Date.parse(verified?.takenAt ?? timestamp(since)), since) + 2 * everyMs + GRACE_MS
  return {
    nextAt,
    due: now < nextAt ? undefined : nameAt(plane, now),
    drop: dropped(cluster, plane, last?.name, declared.keep),
    since,
    verified,
    overdueAt,
    isOverdue: now > overdueAt,
  }
}

/** Clusters that live for hours need no snapshots. */
const hubSchedule = ({ cluster: { spec }, host }: Pick<Seen, 'cluster' | 'host'>): SnapshotDefault | undefined =>
  spec.ttl === undefined && spec.controlPlane?.flavor === host.name ? host.capabilities.snapshots : undefined

/** An unfinished snapshot is finished first. */
const nameAt = (plane: ControlPlane | undefined, now: number): string =>
  plane?.taking !== undefined && isScheduled(plane.taking)
    ? plane.taking
    : `${SCHEDULED}${timestamp(now).toLowerCase().replaceAll(/[-:]/g, '')}`

/** Drops snapshots from the future first, then the oldest. Never drops the last one, or any that the Cluster names. */
function dropped(
  { spec }: Cluster,
  plane: ControlPlane | undefined,
  last: string | undefined,
  keep: number,
): readonly string[] {
  const { snapshot, restore } = spec.controlPlane ?? {}
  const own = (plane?.snapshots ?? []).filter(
    ({ name }) => isScheduled(name) && name !== snapshot && name !== restore?.snapshot,
  )
  const lastAt = own.find((s) => s.name === last)?.takenAt ?? ''
  const isOfFuture = ({ takenAt }: { readonly takenAt: string }): boolean => last !== undefined && takenAt > lastAt
  const order = own.toSorted(
    (a, b) => Number(isOfFuture(b)) - Number(isOfFuture(a)) || (a.takenAt < b.takenAt ? -1 : 1),
  )
  const excess = order.slice(0, Math.max(0, own.length - keep))
  return excess.map((s) => s.name).filter((name) => name !== last)
}

const newestOf = <T extends { readonly takenAt: string }>(of: readonly T[]): T | undefined =>
  of.reduce<T | undefined>((best, s) => (best === undefined || s.takenAt >= best.takenAt ? s : best), undefined)
