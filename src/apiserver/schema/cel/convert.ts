// Turns data of the API into CEL values, led by the declared type; undeclared data (dyn) by what it looks like.
import { isObject } from '#lib/json.ts'
import { parseGoDuration, parseTimestamp } from './time.ts'
import type { CelType } from './types.ts'
import { CelDuration, CelError, CelList, CelObject, CelTimestamp, type CelValue, DataMap } from './values.ts'

export function toCel(raw: unknown, type: CelType): CelValue {
  if (raw === null || raw === undefined) return null
  const read = READERS[type.kind]
  return read === undefined ? undeclared(raw, type) : read(raw, type)
}

type Reader = (raw: unknown, type: CelType) => CelValue

/** Kinds without a reader take whatever comes. */
const READERS: Readonly<Partial<Record<CelType['kind'], Reader>>> = {
  string: (raw) => (typeof raw === 'string' ? raw : mismatch(raw, 'string')),
  bool: (raw) => (typeof raw === 'boolean' ? raw : mismatch(raw, 'boolean')),
  int(raw) {
    if (typeof raw === 'bigint') return raw
    return typeof raw === 'number' && Number.isInteger(raw) ? BigInt(raw) : mismatch(raw, 'integer')
  },
  double: (raw) => (typeof raw === 'number' || typeof raw === 'bigint' ? Number(raw) : mismatch(raw, 'number')),
  object: (raw, type) =>
    isObject(raw) && type.kind === 'object' ? new CelObject(raw, type, toCel) : mismatch(raw, 'object'),
  list: (raw, type) =>
    Array.isArray(raw) && type.kind === 'list' ? new CelList(raw, type, toCel) : mismatch(raw, 'array'),
  map: (raw, type) =>
    isObject(raw) && type.kind === 'map' ? new DataMap(raw, type.value, toCel) : mismatch(raw, 'object'),
  bytes: (raw) => (typeof raw === 'string' ? Uint8Array.from(Buffer.from(raw, 'base64')) : mismatch(raw, 'string')),
  timestamp(raw) {
    const nanos = typeof raw === 'string' ? parseTimestamp(raw) : undefined
    return nanos === undefined ? mismatch(raw, 'date-time') : new CelTimestamp(nanos)
  },
  duration(raw) {
    const nanos = typeof raw === 'string' ? parseGoDuration(raw) : undefined
    return nanos === undefined ? mismatch(raw, 'duration') : new CelDuration(nanos)
  },
}

function undeclared(raw: unknown, type: CelType): CelValue {
  if (typeof raw === 'string' || typeof raw === 'boolean' || typeof raw === 'bigint') return raw
  if (typeof raw === 'number') return Number.isInteger(raw) ? BigInt(raw) : raw
  if (Array.isArray(raw)) return new CelList(raw, { kind: 'list', elem: type }, toCel)
  if (isObject(raw)) return new DataMap(raw, type, toCel)
  return mismatch(raw, 'JSON value')
}

const mismatch = (raw: unknown, wanted: string): CelError =>
  new CelError(`invalid data, expected ${wanted} but found ${Array.isArray(raw) ? 'array' : typeof raw}`)
