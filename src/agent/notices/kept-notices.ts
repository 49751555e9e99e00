// Notices from a metadata service's pages, kept until two reads in a row lack them: one wrong answer does not withdraw a notice. Pure.
import { MAX_NOTICES } from '#api/kinds/machine.ts'
import type { Notice } from '#providers/cloud/metadata.ts'

/** Reads in a row without the notice before it counts as withdrawn. */
const ABSENT_READS = 2

interface Kept {
  readonly notice: Notice
  readonly absent: number
}

/** By page. A missing page was never read. */
export type KeptNotices = ReadonlyMap<string, readonly Kept[]>

export function withRead(kept: KeptNotices, path: string, read: readonly Notice[]): KeptNotices {
  const ids = new Set(read.map((n) => n.id))
  const absent = (kept.get(path) ?? [])
    .filter(({ notice }) => !ids.has(notice.id))
    .map((k) => ({ ...k, absent: k.absent + 1 }))
    .filter((k) => k.absent < ABSENT_READS)
  return new Map(kept).set(path, [...read.map((notice) => ({ notice, absent: 0 })), ...absent])
}

/** Undefined until each page was read once: before that, a missing notice proves nothing. Soonest first, limited to what the Machine holds. */
export function noticesOf(kept: KeptNotices, paths: readonly string[]): readonly Notice[] | undefined {
  if (paths.some((path) => !kept.has(path))) return undefined
  const byId = new Map<string, Notice>()
  for (const { notice } of [...kept.values()].flat()) if (!byId.has(notice.id)) byId.set(notice.id, notice)
  const rank = (n: Notice) => `${n.notBefore ?? '~'} ${n.id}`
  const soonest = [...byId.values()].toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, MAX_NOTICES)
  return soonest.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}
