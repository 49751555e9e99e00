// What a track's Releases show about reverts: content that failed and was reverted, and content that was healthy before. Pure.
import { titledCommit } from '#api/protocol/commit-title.ts'
import type { Release } from '#api/kinds/release.ts'
import { sameDigests } from '../release/chain.ts'
import { hasPassedStage, mayHaveTouched } from '../release/history.ts'
import type { RevertedBefore } from './policy.ts'
import { defined } from '#lib/defined.ts'

/**
 * The last tried Release with exactly these objects, if it failed and was reverted. A Release that was held back for this reason changed nothing and is ignored.
 * Undefined if a user has let the content continue since.
 */
export function revertedBefore(chain: readonly Release[], release: Release): RevertedBefore | undefined {
  const last = earlier(chain, release).findLast(
    (each) => sameDigests(each.spec.digests, release.spec.digests) && (wasTried(each) || wasOverruled(each)),
  )
  const { revertCommit, revert } = last?.status ?? {}
  if (last === undefined || revertCommit === undefined || revert?.overruledAt !== undefined) return undefined
  const { commit, subject, author } = last.spec
  const title = defined({ subject, author })
  return hasFailed(last) ? { commit, title, revertCommit, revertedBy: titledCommit(revertCommit, chain) } : undefined
}

const hasFailed = ({ status }: Release): boolean => (status?.stages ?? []).some((s) => s.phase === 'Failed')

const wasTried = (release: Release): boolean =>
  hasFailed(release) || (release.status?.clusters ?? []).some(mayHaveTouched)

const wasOverruled = ({ status }: Release): boolean => status?.revert?.overruledAt !== undefined

/** Clusters where a revert restores content that passed a stage there. */
export function returnsOf(chain: readonly Release[], release: Release): ReadonlySet<string> {
  const { revertOf, digests } = release.spec
  if (revertOf === undefined) return new Set()
  const passed = earlier(chain, release).flatMap((r) =>
    (r.status?.clusters ?? []).filter((c) => c.digest === digests[c.name] && hasPassedStage(r, c)),
  )
  return new Set(passed.map((c) => c.name))
}

function earlier(chain: readonly Release[], { metadata }: Release): readonly Release[] {
  const at = chain.findIndex((r) => r.metadata.name === metadata.name)
  return chain.slice(0, Math.max(0, at))
}
