// Computes `waitingFor` of a status: what an object waits for, and since when, which stays the same while it waits for the same.
import { shortCommit } from '#api/protocol/commit-title.ts'
import { shortened } from '#lib/shortened.ts'
import { timestamp } from '#lib/clock.ts'

export interface Wait<P extends string = string> {
  readonly predicate: P
  readonly seen: string
  readonly unblock: string
  /** The value seen is a measure of progress: when it changes, the wait starts again. */
  readonly isProgress?: boolean
  /** Waiting for one of these was waiting for the same, under another name. */
  readonly sameAs?: ReadonlySet<string>
}

export interface WaitingSince<P extends string = string> {
  readonly predicate: P
  readonly seen: string
  readonly since: string
  readonly unblock: string
}

type Before = { readonly predicate: string; readonly since?: string; readonly seen?: string } | undefined

/** Sentences of our kinds are at most this long. */
export const MOST_SENTENCE_CHARS = 200
export const fit = (text: string, most = MOST_SENTENCE_CHARS): string => shortened(text, most)

/** The two ways out for what a commit broke, the first of them to be pasted. */
export const revertOrRetry = (commit: string, retry: string): string =>
  `run git revert --no-edit ${shortCommit(commit)} && git push; to retry, ${retry}`

export function waitingSince<P extends string>(before: Before, wait: Wait<P>, now: number): WaitingSince<P> {
  const seen = fit(wait.seen)
  const isKnown = before !== undefined && (before.predicate === wait.predicate || wait.sameAs?.has(before.predicate))
  const isSame = isKnown === true && (wait.isProgress !== true || before.seen === seen)
  const start = before?.since ?? ''
  // A clock that was set back must not leave a start in the future: nothing would ever be overdue. An unreadable start is none.
  const since = isSame && Date.parse(start) <= now ? start : timestamp(now)
  return { predicate: wait.predicate, seen, since, unblock: fit(wait.unblock) }
}
