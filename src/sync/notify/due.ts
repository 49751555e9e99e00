// Decides what is sent to which target now, and what the status remembers of it. Pure. Invariant: a target gets the same news once. Failed news is
// retried with growing delays, a bounded number of times.
import { MAX_NOTIFY_ATTEMPTS, MAX_SENT } from '#api/kinds/notify.ts'
import type { ReleaseStatus } from '#api/kinds/release.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { printableLine } from '#lib/printable.ts'
import type { Target } from './messages.ts'
import type { News } from './news.ts'

export type Notified = NonNullable<ReleaseStatus['notified']>[number]

const FIRST_RETRY_MS = 10_000
const LAST_RETRY_MS = 15 * 60_000
const MAX_PROBLEM = 200
/** A target that is added later gets no news of releases that ended long ago. */
const OLD_MS = 60 * 60_000

export interface DueSeen<T extends Pick<Target, 'name'>> {
  readonly targets: readonly T[]
  readonly notified: readonly Notified[]
  readonly news: News
  /** When the object ended, if it did. */
  readonly endedAt: number | undefined
  readonly now: number
}

export interface Due<T> {
  readonly targets: readonly T[]
  /** Milliseconds until the next attempt for other news. */
  readonly againMs?: number
}

export function dueTargets<T extends DueTarget>({ targets, notified, news, endedAt, now }: DueSeen<T>): Due<T> {
  const due: T[] = []
  let againMs: number | undefined
  for (const target of targets) {
    const before = notified.find((n) => n.name === target.name)
    if (!isWanted(target, news, before)) continue
    if (before === undefined && endedAt !== undefined && now - endedAt > OLD_MS) continue
    const { attempts = 0 } = isAbout(before, news) ? (before ?? {}) : {}
    if (attempts >= MAX_NOTIFY_ATTEMPTS) continue
    const waitMs = attempts === 0 || before === undefined ? 0 : Date.parse(before.at) + retryMs(attempts) - now
    if (waitMs > 0) againMs = Math.min(againMs ?? waitMs, waitMs)
    else due.push(target)
  }
  return { targets: due, ...defined({ againMs }) }
}

export type DueTarget = Pick<Target, 'name' | 'events' | 'commitStatus'>

/** A commit status shows the current state; people are notified once. */
function isWanted({ events, commitStatus }: DueTarget, { event, key }: News, before: Notified | undefined): boolean {
  const sent = before?.sent ?? []
  return commitStatus === undefined ? events.includes(event) && !sent.includes(key) : sent.at(-1) !== key
}

const retryMs = (attempts: number): number => Math.min(FIRST_RETRY_MS * 2 ** (attempts - 1), LAST_RETRY_MS)

/** Attempts count for the news that failed; the problem text starts with its key. */
const isAbout = (before: Notified | undefined, { key }: News): boolean =>
  before?.problem?.startsWith(`${shortKey(key)}: `) === true
const shortKey = (key: string): string => key.slice(0, 80)

/** `problem`: undefined when it was sent. */
export function remembered(
  before: Notified | undefined,
  {
    name,
    key,
    problem,
    now,
  }: { readonly name: string; readonly key: string; readonly problem: string | undefined; readonly now: number },
): Notified {
  const sent = before?.sent ?? []
  const at = timestamp(now)
  if (problem === undefined) return { name, at, sent: [...sent, key].slice(-MAX_SENT) }
  const isAgain = before?.problem?.startsWith(`${shortKey(key)}: `) === true
  const attempts = Math.min((isAgain ? (before?.attempts ?? 0) : 0) + 1, MAX_NOTIFY_ATTEMPTS)
  const text = printableLine(`${shortKey(key)}: ${problem}`).slice(0, MAX_PROBLEM)
  return { name, at, attempts, problem: text, ...(sent.length > 0 && { sent }) }
}

/** Drops entries of targets that no longer exist. */
export function merged(
  before: readonly Notified[],
  changed: readonly Notified[],
  names: ReadonlySet<string>,
): readonly Notified[] {
  const byName = new Map([...before, ...changed].map((n) => [n.name, n]))
  return [...byName.values()].filter((n) => names.has(n.name))
}
