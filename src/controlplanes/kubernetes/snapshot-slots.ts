// Picks a snapshot's file and the snapshots to drop. There is a fixed set of files that are overwritten, because etcd's image has no program to delete one. A
// file is replaced only once the new one is complete, so the volume must always have room for one more. Pure.
import { isScheduled } from '../port.ts'
import type { Opened } from './etcd-care.ts'
import type { KeptSnapshot, PlaneRecord } from './plane-record.ts'

/** This many are kept, in addition to an upgrade's way back and a snapshot being restored. */
const MOST_SNAPSHOTS = 10
const MOST_PINNED = 2
/** One more than are ever kept: none is dropped before another one was opened. */
const SLOTS = MOST_SNAPSHOTS + MOST_PINNED + 1

const pinnedIn = ({ upgrade, restoring }: PlaneRecord): ReadonlySet<string | undefined> =>
  new Set([upgrade?.edge?.snapshot, upgrade?.restoring?.snapshot, restoring?.snapshot])

/** Sizes of all files on the volume by slot, including those of dropped snapshots. */
type Files = ReadonlyMap<number, number>

const filesOf = ({ snapshots, files = {} }: PlaneRecord): Files =>
  new Map([
    ...snapshots.map((s) => [s.slot, s.bytes] as const),
    ...Object.entries(files).map(([slot, bytes]) => [Number(slot), bytes] as const),
  ])

/** An abandoned snapshot starts again in its file, and an unused file is overwritten before a new one is started. */
export function freeSlot(record: PlaneRecord): number {
  const { snapshots, taking } = record
  const isFree = (n: number): boolean => !snapshots.some((s) => s.slot === n)
  if (taking !== undefined && isFree(taking.slot)) return taking.slot
  const files = filesOf(record)
  const free = Array.from({ length: SLOTS }, (_, n) => n).filter(isFree)
  const slot = free.find((n) => files.has(n)) ?? free[0]
  if (slot === undefined) throw new Error('every snapshot is needed')
  return slot
}

/** The new one is complete: drops the oldest one that nothing depends on. Scheduled snapshots are dropped by the schedule, unless the volume is too small. */
export function withSnapshot(
  { taking, ...record }: PlaneRecord,
  { objects, bytes, revision }: Opened,
  { takenAt, volumeBytes }: { readonly takenAt: string; readonly volumeBytes: number },
): PlaneRecord {
  if (taking === undefined) return record
  const { name, slot, version, sealedWith } = taking
  const sealed = sealedWith !== undefined && { sealedWith }
  const made: KeptSnapshot = { name, slot, version, takenAt, bytes, objects, revision, ...sealed }
  const files = new Map([...filesOf(record), [slot, bytes] as const])
  const pinned = pinnedIn(record)
  const spare = record.snapshots.filter((s) => !pinned.has(s.name))
  const excess = Math.max(0, spare.length + 1 - MOST_SNAPSHOTS)
  const leaving = new Set(
    spare.toSorted((a, b) => Number(isScheduled(a.name)) - Number(isScheduled(b.name))).slice(0, excess),
  )
  const kept = (): readonly KeptSnapshot[] => [...record.snapshots.filter((s) => !leaving.has(s)), made]
  // Another one always stays: the new one may be of an already damaged store.
  const [oldest] = kept().length > 2 ? spare.filter((s) => !leaving.has(s)) : []
  if (oldest !== undefined && !hasFreeFile(kept(), files) && !canGrow(files, bytes, volumeBytes)) leaving.add(oldest)
  return { ...record, files: Object.fromEntries(files), snapshots: kept() }
}

const hasFreeFile = (kept: readonly KeptSnapshot[], files: Files): boolean =>
  [...files.keys()].some((slot) => !kept.some((s) => s.slot === slot))

/** Even with one more file there must be room to replace one. */
const canGrow = (files: Files, bytes: number, volumeBytes: number): boolean =>
  [...files.values()].reduce((sum, of) => sum + of, 0) + 2 * bytes <= volumeBytes

export function withoutSnapshots(record: PlaneRecord, names: readonly string[]): PlaneRecord {
  const pinned = pinnedIn(record)
  return {
    ...record,
    // Their files stay on the volume.
    files: Object.fromEntries(filesOf(record)),
    snapshots: record.snapshots.filter((s) => pinned.has(s.name) || !names.includes(s.name)),
  }
}
