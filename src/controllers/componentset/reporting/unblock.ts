// The commands that unblock a set after a failed version, as its status shows them. Pure.
import { revertOrRetry } from '#runtime/waiting.ts'
import type { Context } from '../plan-context.ts'
import { wasHealthyHere } from '../revisions/known-good.ts'
import { commitToRevert } from '../revisions/versions.ts'
import type { Blocked } from '../seen.ts'

export const retryCommand = ({ set }: Context['seen']): string =>
  `kubenode rollout retry ${set.metadata.name ?? ''} --reason WHY`

/**
 * Same advice as in the Release that brought the version: revert first. Exception: if users returned to an older healthy version, reverting that
 * would bring back the version they left.
 */
export function unblockAdvice({ seen, revisions, tracks }: Context, { component }: Blocked): string {
  const declared = tracks.find((t) => t.component === component)?.declared
  const isKnownGood = declared !== undefined && wasHealthyHere(declared, revisions.all, seen.components)
  const retry = retryCommand(seen)
  if (isKnownGood) return `run ${retry}`
  if (revisions.all.length < 2) return `a commit declares another version; to retry, ${retry}`
  const commit = commitToRevert(revisions, seen.set, component)
  return commit === undefined
    ? `run kubenode rollback ${seen.set.metadata.name ?? ''}; to retry, ${retry}`
    : revertOrRetry(commit, retry)
}
