// Computes `waitingFor` of a status: what an object waits for, and since when. The start stays the same while the cause does.
import { shortCommit } from '#api/protocol/commit-title.ts'
import { shortened } from '#lib/shortened.ts'
import { timestamp } from '#lib/clock.ts'

export interface Wait<P extends string = string> {
  readonly predicate: P
  readonly seen: string
  readonly unblock: string
  /** The observed value measures progress: when it changes, the wait restarts. */
  readonly isProgress?: boolean
  /** These waits count as the same wait under another name. */
  readonly sameAs?: ReadonlySet<string>
}

export interface WaitingSince<P extends string = string> {
  readonly predicate: P
  readonly seen: string
  readonly since: string
  readonly unblock: string
}

type Before = { readonly predicate: string; readonly since?: string; readonly seen?: string } | undefined

/** Upper limit of sentences in KubeNode's kinds. */
export const MOST_SENTENCE_CHARS = 200
export const fit = (text: string, most = MOST_SENTENCE_CHARS): string => shortened(text, most)

/** The two ways to fix what a commit broke; the first is a command to paste. */
export const revertOrRetry = (commit: string, retry: string): string =>
  `run ${revertCommand(commit, 'Commit')}; to retry, ${retry}`

interface Revertible {
  readonly commit: string
  readonly after?: string
  readonly revert?: 'Commit' | 'Merge'
}

export const revertCommand = (commit: string, kind: 'Commit' | 'Merge'): string =>
  `git revert ${kind === 'Merge' ? '--no-edit -m 1' : '--no-edit'} ${shortCommit(commit)} && git push`

/** A high-risk change may be an accident, so its way back stands beside its approval, if one revert is all of it. */
export function approveOrRevert(approve: string, { commit, revert }: Revertible): string {
  if (revert === undefined) return approve
  const both = `${approve}; to take the change back, ${revertCommand(commit, revert)}`
  return both.length > MOST_SENTENCE_CHARS ? approve : both
}

/** For a Release: one revert is named only where it takes everything back. */
export function revertReleaseOrRetry({ commit, after, revert }: Revertible, retry: string): string {
  const fix =
    revert !== undefined
      ? `run ${revertCommand(commit, revert)}`
      : after === undefined
        ? 'push a commit that mends it'
        : `revert the commits that broke it (git log ${shortCommit(after)}..${shortCommit(commit)})`
  return `${fix}; to retry, ${retry}`
}

export function waitingSince<P extends string>(before: Before, wait: Wait<P>, now: number): WaitingSince<P> {
  const seen = fit(wait.seen)
  const isKnown = before !== undefined && (before.predicate === wait.predicate || wait.sameAs?.has(before.predicate))
  const isSame = isKnown === true && (wait.isProgress !== true || before.seen === seen)
  const start = before?.since ?? ''
  // After a clock moved back, a start in the future would never become overdue. An unreadable start counts as none.
  const since = isSame && Date.parse(start) <= now ? start : timestamp(now)
  return { predicate: wait.predicate, seen, since, unblock: fit(wait.unblock) }
}
