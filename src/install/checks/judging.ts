// What a check is: it turns what was read into findings. What could not be read never passes. Pure.
import { someOf } from '#lib/some-of.ts'
import type { Release } from '../release.ts'
import { warned, type Finding } from './finding.ts'
import type { CheckSeen, Reading } from './seen.ts'
import type { WantedClaim } from './storage.ts'

/** Program and API server, or two programs, may be this far apart. */
export const MAX_SKEW_MS = 5_000
/** Names per line. */
export const MOST_NAMED = 3

export interface Wanted {
  readonly release: Release
  readonly claims: readonly WantedClaim[]
}

export type Judge = (seen: CheckSeen, wanted: Wanted) => readonly Finding[]

export const read = <T>(
  check: string,
  reading: Reading<T>,
  judge: (value: T) => Finding | readonly Finding[],
): readonly Finding[] => {
  if ('unread' in reading) return [warned(check, `unknown: ${reading.unread}`)]
  const found = judge(reading.value)
  return Array.isArray(found) ? found : [found as Finding]
}

export const named = (all: readonly string[]): string => someOf(all, MOST_NAMED)
