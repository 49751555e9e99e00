// Detects disks that will be full within hours at the rate of the last hour: time to act before the watermark.
import type { DetectorSettings } from '#api/agent-config/detector-settings.ts'
import { formatDuration } from '#lib/duration.ts'
import type { Reading } from './reading.ts'

export interface FreeBytes {
  readonly path: string
  readonly free: number
  readonly total: number
}

interface FreeAt extends FreeBytes {
  readonly atMs: number
}

/** Oldest first. */
export type FreeHistory = readonly FreeAt[]

const RATE_OVER_MS = 3_600_000
/** A shorter look says little: an image that is unpacked fills a disk for minutes, and no longer. */
export const RATE_NEEDS_MS = 1_800_000
const EVERY_MS = 60_000
const HOUR_MS = 3_600_000

export function followFree(before: FreeHistory, now: readonly FreeBytes[], nowMs: number): FreeHistory {
  const newest = before.at(-1)?.atMs
  if (newest !== undefined && nowMs - newest < EVERY_MS) return before
  return [...before.filter((f) => nowMs - f.atMs <= RATE_OVER_MS), ...now.map((f) => ({ ...f, atMs: nowMs }))]
}

export function judgeRates(
  history: FreeHistory,
  { fullWithinMs, maxFreePercentForRate }: DetectorSettings['disk'],
): readonly Reading[] {
  const paths = [...new Set(history.map((f) => f.path))]
  const filling = paths.flatMap((path) => {
    const seen = history.filter((f) => f.path === path)
    const [first, last] = [seen[0], seen.at(-1)]
    if (first === undefined || last === undefined || last.atMs - first.atMs < RATE_NEEDS_MS) return []
    const lost = first.free - last.free
    // A large empty disk that is being filled on purpose is far from full.
    const isRoomy = (last.free / last.total) * 100 > maxFreePercentForRate
    if (lost <= 0 || isRoomy) return []
    return last.free / (lost / (last.atMs - first.atMs)) <= fullWithinMs ? [path] : []
  })
  const within = formatDuration(Math.round(fullWithinMs / HOUR_MS) * HOUR_MS)
  return [
    filling.length === 0
      ? { type: 'DiskFillingUp', status: 'False', reason: 'EnoughTime', message: 'no disk fills up soon' }
      : {
          type: 'DiskFillingUp',
          status: 'True',
          reason: 'DiskFillingUp',
          message: `full within ${within} at the rate of the last hour: ${filling.join(', ')}`,
        },
  ]
}
