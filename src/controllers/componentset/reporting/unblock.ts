// What frees a set that a failed version stopped: the commands, as its status says them. Pure.
import { revertOrRetry } from '#runtime/waiting.ts'
import type { Context } from '../plan-context.ts'
import { wasHealthyHere } from '../revisions/known-good.ts'
import { commitToRevert } from '../revisions/versions.ts'
import type { Blocked } from '../seen.ts'

export const retryCommand = ({ set }: Context['seen']): string =>
  `kubenode rollout retry ${set.metadata.name ?? ''} --reason WHY`

/** As the Release that brought the version says it: a revert first. Users returned to a version that was healthy before: reverting that would bring back the version they left. */
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
