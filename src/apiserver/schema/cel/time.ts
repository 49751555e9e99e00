// Times and durations as CEL and Go write them, in nanoseconds as bigint.
import { withoutEnd } from '#lib/without-ends.ts'

const UNIT_NANOS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}
const SECOND = 1_000_000_000n
const MAX_INT64 = 2n ** 63n - 1n

/** Go's time.ParseDuration: "1h30m", "-1.5s", "0"; undefined when it is none or does not fit 64 bits. */
export function parseGoDuration(text: string): bigint | undefined {
  const negative = text.startsWith('-')
  const body = negative || text.startsWith('+') ? text.slice(1) : text
  if (body === '0') return 0n
  // Longer than any meaningful duration; keeps the digits below from becoming a huge number.
  if (body === '' || body.length > 128) return undefined
  const part = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y
  let nanos = 0n
  while (part.lastIndex < body.length) {
    const m = part.exec(body)
    if (m === null) return undefined
    const [, whole = '', fraction = '', unit = ''] = m
    if (whole === '' && fraction === '') return undefined
    const size = UNIT_NANOS[unit] ?? 0n
    nanos += BigInt(whole === '' ? '0' : whole) * size
    if (fraction !== '') nanos += (BigInt(fraction) * size) / 10n ** BigInt(fraction.length)
  }
  if (nanos > (negative ? MAX_INT64 + 1n : MAX_INT64)) return undefined
  return negative ? -nanos : nanos
}

/** Go's Duration.String without trailing zero units: `string(duration("90s"))` is "90s" in CEL. */
export function formatCelDuration(nanos: bigint): string {
  const negative = nanos < 0n
  const abs = negative ? -nanos : nanos
  const fraction = withoutEnd((abs % SECOND).toString().padStart(9, '0'), /0/)
  return `${negative ? '-' : ''}${abs / SECOND}${fraction === '' ? '' : `.${fraction}`}s`
}

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)(?:[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:([Zz])|([+-])(\d\d):(\d\d)))?$/

/** RFC 3339, or a plain date (format "date"); undefined for days and times that do not exist. */
export function parseTimestamp(text: string): bigint | undefined {
  const m = RFC3339.exec(text)
  if (m === null) return undefined
  const [year, month, day] = [Number(m[1]), Number(m[2]), Number(m[3])]
  const [hour, minute, second] = [Number(m[4] ?? 0), Number(m[5] ?? 0), Number(m[6] ?? 0)]
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day || month < 1 || month > 12) return undefined
  date.setUTCHours(hour, minute, second)
  const offset = m[9] === undefined ? 0 : (m[9] === '-' ? -1 : 1) * (Number(m[10]) * 60 + Number(m[11]))
  const fraction = BigInt((m[7] ?? '').padEnd(9, '0') || '0')
  return (BigInt(date.getTime()) - BigInt(offset) * 60_000n) * 1_000_000n + fraction
}

export function formatTimestamp(nanos: bigint): string {
  const ms = floorDiv(nanos, 1_000_000n)
  const fraction = withoutEnd((nanos - floorDiv(nanos, SECOND) * SECOND).toString().padStart(9, '0'), /0/)
  const text = new Date(Number(ms)).toISOString().slice(0, 19)
  return `${text}${fraction === '' ? '' : `.${fraction}`}Z`
}

export function floorDiv(a: bigint, b: bigint): bigint {
  const q = a / b
  return a % b !== 0n && a < 0n !== b < 0n ? q - 1n : q
}

/** 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z, what CEL allows. */
export const MIN_TIMESTAMP = -62_135_596_800n * SECOND
export const MAX_TIMESTAMP = 253_402_300_800n * SECOND - 1n
