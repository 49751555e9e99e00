// The deletions of one commit that a person approved: sync lists them in the Inventory of the cluster before it begins, and the Defender believes the list
// only where its digest is the one that an Approval names.
import { createHash } from 'node:crypto'
import { canonicalJson } from '#lib/json.ts'

export interface Pruning {
  readonly digest: string
  /** `<object> <uid>` of each. */
  readonly targets: readonly string[]
}

/** Names these very objects: an approval of it covers no other list. */
export const pruningDigest = (targets: readonly string[]): string =>
  createHash('sha256')
    .update(canonicalJson({ operations: ['Prune'], targets: targets.toSorted() }))
    .digest('hex')

/** Whether the list holds the object, and is the one that was approved. */
export const isApprovedPrune = ({ digest, targets }: Pruning, uid: string, approved: ReadonlySet<string>): boolean =>
  approved.has(digest) && targets.some((t) => t.endsWith(` ${uid}`)) && pruningDigest(targets) === digest
