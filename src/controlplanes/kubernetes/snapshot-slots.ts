// Which file a snapshot is written to. There are a few, written again and again: the image of etcd has nothing that could remove one. Pure.
import type { Opened } from './etcd-care.ts'
import type { KeptSnapshot, PlaneRecord } from './plane-record.ts'

/** As many are kept; the way back of an upgrade, and what is being restored, beside them. */
const MOST_SNAPSHOTS = 10
const MOST_PINNED = 2

/** The oldest one that nothing depends on makes room. */
export function freeSlot({ snapshots, upgrade, restoring, taking }: PlaneRecord): {
  readonly slot: number
  readonly others: readonly KeptSnapshot[]
} {
  const pinned = new Set([upgrade?.edge?.snapshot, upgrade?.restoring?.snapshot, restoring?.snapshot])
  const free = Array.from({ length: MOST_SNAPSHOTS + MOST_PINNED }, (_, n) => n).find(
    (n) => !snapshots.some((s) => s.slot === n),
  )
  const spare = snapshots.filter((s) => !pinned.has(s.name))
  const [oldest] = spare
  // What was begun and given up is begun again in the same file.
  if (taking !== undefined && !snapshots.some((s) => s.slot === taking.slot))
    return { slot: taking.slot, others: snapshots }
  if (free !== undefined && spare.length < MOST_SNAPSHOTS) return { slot: free, others: snapshots }
  if (oldest === undefined) throw new Error('every snapshot is needed')
  return { slot: oldest.slot, others: snapshots.filter((s) => s !== oldest) }
}

export function withSnapshot(
  { taking, ...record }: PlaneRecord,
  { objects, bytes, revision }: Opened,
  takenAt: string,
): PlaneRecord {
  if (taking === undefined) return record
  const made: KeptSnapshot = { ...taking, takenAt, bytes, objects, revision }
  return { ...record, snapshots: [...record.snapshots, made] }
}
