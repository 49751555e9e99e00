// How many deletions pass without a person, and the digest with which a person approves more.
import { pruningDigest } from '#api/protocol/pruning.ts'
import { refText, type ObjectRef } from './object-ref.ts'

/** The deletion covers only the object with this uid. */
interface Pruned {
  readonly ref: ObjectRef
  readonly uid: string
}

/** A percentage rounds down. But a single object is not a mass deletion, unless the guard is zero. */
export function allowedPrunes(guard: number | `${number}%`, total: number): number {
  if (typeof guard === 'number') return guard
  const percent = Number(guard.slice(0, -1))
  return percent === 0 ? 0 : Math.max(1, Math.floor((percent * total) / 100))
}

export const pruneTargets = (actions: readonly Pruned[]): readonly string[] =>
  actions.map(({ ref, uid }) => `${refText(ref)} ${uid}`).toSorted()

export const pruneDigest = (actions: readonly Pruned[]): string => pruningDigest(pruneTargets(actions))
