// Parses times as users type them: a moment, a day, or a duration ago. Pure.
import { timestamp } from '#lib/clock.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { instantMs } from '#lib/instant.ts'
import { historyErrors } from '../history-errors.ts'

const DAY = /^\d{4}-\d{2}-\d{2}$/
/** `14:05`: the most recent one, in UTC. */
const TIME_OF_DAY = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/
const DAY_MS = 86_400_000

/** Milliseconds since 1970. */
export function momentIn(text: string, now: number): number {
  const ago = durationMs(text)
  if (ago !== undefined) return now - ago
  const instant = instantMs(DAY.test(text) ? `${text}T00:00:00Z` : text)
  if (instant !== undefined) return instant
  if (TIME_OF_DAY.test(text)) {
    const today = Date.parse(`${new Date(now).toISOString().slice(0, 10)}T${text}Z`)
    return today > now ? today - DAY_MS : today
  }
  throw new KubeNodeError(historyErrors.KN17006({ text: JSON.stringify(text) }))
}

export interface Asked {
  readonly since?: string | undefined
  readonly until?: string | undefined
}

export function rangeIn({ since, until }: Asked, now: number): { readonly from: number; readonly to: number } {
  const to = until === undefined ? now + 1 : momentIn(until, now)
  const from = since === undefined ? 0 : momentIn(since, now)
  if (from >= to) throw new KubeNodeError(historyErrors.KN17006_order({ from: timestamp(from), to: timestamp(to) }))
  return { from, to }
}
