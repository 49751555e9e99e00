// Conversions between types, `type()` and `dyn()`. What does not fit is an error, nothing is rounded silently into range.
import { type Cost, fn, type Overload, readsFirst } from './functions.ts'
import { intResult, uintResult } from './operators.ts'
import { formatCelDuration, formatTimestamp, MAX_TIMESTAMP, MIN_TIMESTAMP, parseGoDuration } from './time.ts'
import { parseTimestamp } from './time.ts'
import { BOOL, BYTES, type CelType, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, typeName, typeOf } from './types.ts'
import { UINT } from './types.ts'
import { CelDuration, CelError, CelTimestamp, CelTypeValue, CelUint, type CelValue, typeOfValue } from './values.ts'

const A: CelType = { kind: 'var', name: 'A' }
const NANOS = 1_000_000_000n

const cannot = (from: string, to: string): CelError => new CelError(`type conversion error from '${from}' to '${to}'`)

function intFromText(text: string): CelValue {
  return /^[+-]?\d{1,40}$/.test(text) ? intResult(BigInt(text.replace('+', ''))) : cannot('string', 'int')
}

function uintFromText(text: string): CelValue {
  return /^\d{1,40}$/.test(text) ? uintResult(BigInt(text)) : cannot('string', 'uint')
}

/** The limits themselves are excluded: as doubles they represent numbers that do not fit. */
function intFromDouble(n: number): CelValue {
  const fits = n > -(2 ** 63) && n < 2 ** 63
  return fits ? BigInt(Math.trunc(n)) : new CelError('integer overflow')
}

function uintFromDouble(n: number): CelValue {
  return n >= 0 && n < 2 ** 64 ? new CelUint(BigInt(Math.trunc(n))) : new CelError('unsigned integer overflow')
}

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/
const SPECIAL: Readonly<Record<string, number>> = {
  nan: Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  '+inf': Number.POSITIVE_INFINITY,
  '-inf': Number.NEGATIVE_INFINITY,
  infinity: Number.POSITIVE_INFINITY,
  '+infinity': Number.POSITIVE_INFINITY,
  '-infinity': Number.NEGATIVE_INFINITY,
}

function doubleFromText(text: string): CelValue {
  if (NUMBER.test(text)) return Number(text)
  const lower = text.toLowerCase()
  return (Object.hasOwn(SPECIAL, lower) ? SPECIAL[lower] : undefined) ?? cannot('string', 'double')
}

const TRUE = new Set(['1', 't', 'T', 'true', 'TRUE', 'True'])
const FALSE = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False'])

function boolFromText(text: string): CelValue {
  if (TRUE.has(text)) return true
  return FALSE.has(text) ? false : cannot('string', 'bool')
}

/** Go's %g with the shortest digits: an exponent outside 1e-4 … 1e21. */
function doubleText(n: number): string {
  if (Number.isNaN(n)) return 'NaN'
  if (!Number.isFinite(n)) return n > 0 ? '+Inf' : '-Inf'
  const size = Math.abs(n)
  if (size !== 0 && (size < 1e-4 || size >= 1e21)) return n.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
  return Object.is(n, -0) ? '-0' : String(n)
}

function stringFromBytes(bytes: Uint8Array): CelValue {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return new CelError('invalid UTF-8 in bytes, cannot convert to string')
  }
}

function durationFromText(text: string): CelValue {
  const nanos = parseGoDuration(text)
  return nanos === undefined ? cannot('string', 'google.protobuf.Duration') : new CelDuration(nanos)
}

function timestampFromText(text: string): CelValue {
  const nanos = text.length > 10 ? parseTimestamp(text) : undefined
  return nanos === undefined ? cannot('string', 'google.protobuf.Timestamp') : timestamp(nanos)
}

const timestamp = (nanos: bigint): CelValue =>
  nanos < MIN_TIMESTAMP || nanos > MAX_TIMESTAMP ? new CelError('timestamp overflow') : new CelTimestamp(nanos)

const same = (v: CelValue): CelValue => v
const read: Cost = readsFirst()

export const CONVERSIONS: readonly Overload[] = [
  fn('int', [INT], INT, same),
  fn('int', [UINT], INT, (v: CelUint) => intResult(v.value)),
  fn('int', [DOUBLE], INT, intFromDouble),
  fn('int', [STRING], INT, intFromText),
  fn('int', [DURATION], INT, (d: CelDuration) => d.nanos),
  fn('int', [TIMESTAMP], INT, (t: CelTimestamp) => (t.nanos - (((t.nanos % NANOS) + NANOS) % NANOS)) / NANOS),
  fn('uint', [UINT], UINT, same),
  fn('uint', [INT], UINT, uintResult),
  fn('uint', [DOUBLE], UINT, uintFromDouble),
  fn('uint', [STRING], UINT, uintFromText),
  fn('double', [DOUBLE], DOUBLE, same),
  fn('double', [INT], DOUBLE, (n: bigint) => Number(n)),
  fn('double', [UINT], DOUBLE, (n: CelUint) => Number(n.value)),
  fn('double', [STRING], DOUBLE, doubleFromText),
  fn('bool', [BOOL], BOOL, same),
  fn('bool', [STRING], BOOL, boolFromText),
  fn('string', [STRING], STRING, same),
  fn('string', [BOOL], STRING, (b: boolean) => String(b)),
  fn('string', [INT], STRING, (n: bigint) => String(n)),
  fn('string', [UINT], STRING, (n: CelUint) => String(n.value)),
  fn('string', [DOUBLE], STRING, doubleText),
  fn('string', [BYTES], STRING, stringFromBytes, read),
  fn('string', [TIMESTAMP], STRING, (t: CelTimestamp) => formatTimestamp(t.nanos)),
  fn('string', [DURATION], STRING, (d: CelDuration) => formatCelDuration(d.nanos)),
  fn('bytes', [BYTES], BYTES, same),
  fn('bytes', [STRING], BYTES, (s: string) => new TextEncoder().encode(s), read),
  fn('duration', [DURATION], DURATION, same),
  fn('duration', [STRING], DURATION, durationFromText),
  fn('duration', [INT], DURATION, (n: bigint) => new CelDuration(n)),
  fn('timestamp', [TIMESTAMP], TIMESTAMP, same),
  fn('timestamp', [STRING], TIMESTAMP, timestampFromText),
  fn('timestamp', [INT], TIMESTAMP, (seconds: bigint) => timestamp(seconds * NANOS)),
  fn('type', [A], typeOf(A), (v: CelValue) => new CelTypeValue(typeName(typeOfValue(v)))),
  fn('dyn', [A], DYN, same),
]
