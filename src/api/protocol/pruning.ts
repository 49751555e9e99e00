// A commit's approved deletions: sync lists them in the cluster's Inventory before it starts, and the Defender trusts the list only if an Approval names its
// digest.
import { sha256OfJson } from '#lib/sha256.ts'

export interface Pruning {
  readonly digest: string
  /** `<object> <uid>` of each. */
  readonly targets: readonly string[]
}

/** Identifies these exact objects: its approval covers no other list. */
export const pruningDigest = (targets: readonly string[]): string =>
  sha256OfJson({ operations: ['Prune'], targets: targets.toSorted() })

/** Whether the list contains the object and is the approved one. */
export const isApprovedPrune = ({ digest, targets }: Pruning, uid: string, approved: ReadonlySet<string>): boolean =>
  approved.has(digest) && targets.some((t) => t.endsWith(` ${uid}`)) && pruningDigest(targets) === digest
