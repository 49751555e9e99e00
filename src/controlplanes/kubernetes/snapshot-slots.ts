// Which file a snapshot is written to, and which snapshots make room. There are a few files, written again and again: the image of etcd has nothing that could remove
// one, and a file is replaced only once the new one is whole, so one more must always fit on the volume. Pure.
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

/** Bytes of every file that is on the volume, by its slot; that of a snapshot that was dropped stays. */
type Files = ReadonlyMap<number, number>

const filesOf = ({ snapshots, files = {} }: PlaneRecord): Files =>
  new Map([
    ...snapshots.map((s) => [s.slot, s.bytes] as const),
    ...Object.entries(files).map(([slot, bytes]) => [Number(slot), bytes] as const),
  ])

/** What was begun and given up is begun again in the same file, and a file that counts no longer is written before another one is begun. */
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

/** The new one is whole: the oldest that nothing depends on makes room, and of those that a schedule took none, which it drops itself unless the volume is too small. */
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
  // One always stays beside it: the new one may be of a store that was damaged before.
  const [oldest] = kept().length > 2 ? spare.filter((s) => !leaving.has(s)) : []
  if (oldest !== undefined && !hasFreeFile(kept(), files) && !canGrow(files, bytes, volumeBytes)) leaving.add(oldest)
  return { ...record, files: Object.fromEntries(files), snapshots: kept() }
}

const hasFreeFile = (kept: readonly KeptSnapshot[], files: Files): boolean =>
  [...files.keys()].some((slot) => !kept.some((s) => s.slot === slot))

/** Beside one file more there must be room to replace a file. */
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
