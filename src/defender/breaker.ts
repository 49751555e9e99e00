// The breaker of one policy. Closed: it counts failures among the last results. Open: only recoveries pass. Half open: it permits a few trials, first
// one, then five, then ten at once, and closes after enough good rounds. One failure opens it again.
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import type { DefenderPolicySpec } from '#api/kinds/defender-policy.ts'
import { timestamp } from '#lib/clock.ts'
import { parseDuration } from '#lib/duration.ts'

export type BreakerEntry = NonNullable<LedgerSpec['breakers']>[number]
export type BreakerRule = NonNullable<DefenderPolicySpec['breaker']>

/** Concurrent trials per round. The last round repeats. */
const ROUNDS = [1, 5, 10] as const
const roundSize = (round: number): number => ROUNDS[Math.min(round, ROUNDS.length - 1)] ?? 1

export const newBreaker = (policy: string, now: number): BreakerEntry => ({
  policy,
  state: 'Closed',
  since: timestamp(now),
  failures: 0,
  results: '',
  times: [],
  trial: 0,
})

const sinceMs = (entry: BreakerEntry): number => Date.parse(entry.since)

/** Time alone turns an open breaker half open. A `since` in the future counts as just now. */
export function breakerAt(entry: BreakerEntry, rule: BreakerRule, now: number): BreakerEntry {
  const current = forgotten(entry, rule, now)
  if (current.state !== 'Open' || now - sinceMs(current) < parseDuration(rule.halfOpenAfter)) return current
  return { ...newBreaker(current.policy, now), state: 'HalfOpen', trial: roundSize(0) }
}

/** Milliseconds until it turns half open on its own. */
export const halfOpensIn = (entry: BreakerEntry, rule: BreakerRule, now: number): number =>
  Math.max(0, parseDuration(rule.halfOpenAfter) - Math.max(0, now - sinceMs(entry)))

/** Adds one result. */
export function afterResult(entry: BreakerEntry, rule: BreakerRule, result: 's' | 'f', now: number): BreakerEntry {
  const results = (entry.results + result).slice(-rule.of)
  const times = [...(entry.times ?? []), Math.floor(now / 1_000)].slice(-rule.of)
  const next = forgotten({ ...entry, results, times }, rule, now)
  if (entry.state === 'Open') return next
  if (entry.state === 'HalfOpen') return afterTrial(entry, rule, result, now)
  return next.failures >= rule.failures ? opened(next, now) : next
}

const opened = (entry: BreakerEntry, now: number): BreakerEntry => ({
  ...newBreaker(entry.policy, now),
  state: 'Open',
  failures: entry.failures,
})

/** `results` holds the successes since it turned half open. The round follows from their number. */
function afterTrial(entry: BreakerEntry, rule: BreakerRule, result: 's' | 'f', now: number): BreakerEntry {
  if (result === 'f') return opened({ ...entry, failures: 1 }, now)
  const results = `${entry.results}s`
  const round = roundOf(results.length)
  if (round >= rule.widen) return newBreaker(entry.policy, now)
  return { ...entry, results, times: [], trial: roundSize(round) }
}

/** The second round starts after 1 success, the third after 6, the fourth after 16, then one every ten. */
function roundOf(successes: number): number {
  let left = successes
  let round = 0
  while (left >= roundSize(round)) left -= roundSize(round++)
  return round
}

/** Drops results older than the window. A result from the future counts as new. */
function forgotten(entry: BreakerEntry, rule: BreakerRule, now: number): BreakerEntry {
  if (entry.state !== 'Closed') return entry
  const oldest = (now - parseDuration(rule.window)) / 1_000
  const times = entry.times ?? []
  const first = times.findIndex((t) => t + 1 > oldest)
  const keep = first < 0 ? 0 : times.length - first
  const results = keep === 0 ? '' : entry.results.slice(-keep)
  const failures = [...results].filter((r) => r === 'f').length
  if (results === entry.results && failures === entry.failures) return entry
  return { ...entry, results, times: keep === 0 ? [] : times.slice(-keep), failures }
}
