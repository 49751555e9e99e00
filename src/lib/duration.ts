// Durations in Kubernetes' and Go's format ("90s", "1h30m"), stored in milliseconds.
import { KubeNodeError } from './errors.ts'
import { libErrors } from './lib-errors.ts'

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/y

/** The pattern of a duration, for schemas and messages. */
export const DURATION_PATTERN = '^([0-9]+(\\.[0-9]+)?(ms|s|m|h|d))+$'

/** Milliseconds; undefined if the text is not a duration. */
export function durationMs(text: string): number | undefined {
  if (text === '0') return 0
  PART.lastIndex = 0
  let ms = 0
  while (PART.lastIndex < text.length) {
    const m = PART.exec(text)
    if (!m) return undefined
    ms += Number(m[1]) * (UNIT_MS[m[2] ?? ''] ?? 0)
  }
  return text === '' ? undefined : ms
}

export function parseDuration(text: string): number {
  const ms = durationMs(text)
  if (ms === undefined) throw new KubeNodeError(libErrors.KN1002_duration({ text: JSON.stringify(text) }))
  return ms
}

/** An age for people: milliseconds are noise, and clocks differ by more. */
export const formatAge = (ms: number): string => (ms < 1_000 ? '0s' : formatDuration(ms))

/** For people: the two largest units, rounded down ("4m12s", "2h5m", "350ms"). */
export function formatDuration(ms: number): string {
  if (ms < 0) return `-${formatDuration(-ms)}`
  if (ms < 1_000) return `${Math.round(ms)}ms`
  const s = Math.floor(ms / 1_000)
  const units: readonly (readonly [string, number])[] = [
    ['d', 86_400],
    ['h', 3_600],
    ['m', 60],
    ['s', 1],
  ]
  const first = units.findIndex(([, size]) => s >= size)
  let rest = s
  let text = ''
  for (const [unit, size] of units.slice(first, first + 2)) {
    const n = Math.floor(rest / size)
    rest -= n * size
    if (n > 0) text += `${n}${unit}`
  }
  return text
}
