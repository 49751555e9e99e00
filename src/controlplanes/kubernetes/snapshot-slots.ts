// Which file a snapshot is written to. There are a few, written again and again: the image of etcd has nothing that could remove one. Pure.
import { isScheduled } from '../port.ts'
import type { Opened } from './etcd-care.ts'
import type { KeptSnapshot, PlaneRecord } from './plane-record.ts'

/** As many are kept; the way back of an upgrade, and what is being restored, beside them. */
const MOST_SNAPSHOTS = 10
const MOST_PINNED = 2
/** One more than are ever kept: none is given up before another one was opened. */
const SLOTS = MOST_SNAPSHOTS + MOST_PINNED + 1

const pinnedIn = ({ upgrade, restoring }: PlaneRecord): ReadonlySet<string | undefined> =>
  new Set([upgrade?.edge?.snapshot, upgrade?.restoring?.snapshot, restoring?.snapshot])

/** What was begun and given up is begun again in the same file. */
export function freeSlot({ snapshots, taking }: PlaneRecord): number {
  const isFree = (n: number): boolean => !snapshots.some((s) => s.slot === n)
  if (taking !== undefined && isFree(taking.slot)) return taking.slot
  const free = Array.from({ length: SLOTS }, (_, n) => n).find(isFree)
  if (free === undefined) throw new Error('every snapshot is needed')
  return free
}

/** The new one is whole: the oldest that nothing depends on makes room, and of those that a schedule took none, which it drops itself. */
export function withSnapshot(
  { taking, ...record }: PlaneRecord,
  { objects, bytes, revision }: Opened,
  takenAt: string,
): PlaneRecord {
  if (taking === undefined) return record
  const { name, slot, version } = taking
  const made: KeptSnapshot = { name, slot, version, takenAt, bytes, objects, revision }
  const pinned = pinnedIn(record)
  const spare = record.snapshots.filter((s) => !pinned.has(s.name))
  const excess = Math.max(0, spare.length + 1 - MOST_SNAPSHOTS)
  const leaving = spare.toSorted((a, b) => Number(isScheduled(a.name)) - Number(isScheduled(b.name))).slice(0, excess)
  return { ...record, snapshots: [...record.snapshots.filter((s) => !leaving.includes(s)), made] }
}

export function withoutSnapshots(record: PlaneRecord, names: readonly string[]): PlaneRecord {
  const pinned = pinnedIn(record)
  return { ...record, snapshots: record.snapshots.filter((s) => pinned.has(s.name) || !names.includes(s.name)) }
}
