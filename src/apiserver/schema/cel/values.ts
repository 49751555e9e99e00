// What CEL computes with. Data of the API stays as it is and is wrapped; only the parts that an expression reads are converted.
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  STRING,
} from './types.ts'
import { TIMESTAMP, typeOf, UINT } from './types.ts'

export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | CelUint
  | CelTimestamp
  | CelDuration
  | CelList
  | CelMap
  | CelObject
  | CelOptional
  | CelTypeValue
  | CelOpaque
  | CelError

/** An evaluation that failed, as a value: `&&`, `||` and quantifiers may absorb it. */
export class CelError {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

export class CelUint {
  readonly value: bigint
  constructor(value: bigint) {
    this.value = value
  }
}

/** Nanoseconds since 1970. */
export class CelTimestamp {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

export class CelDuration {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

export class CelTypeValue {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

export class CelOptional {
  static readonly none = new CelOptional(undefined)
  readonly value: CelValue | undefined
  constructor(value: CelValue | undefined) {
    this.value = value
  }
}

/** A value of a library type; equal when it says so. */
export abstract class CelOpaque {
  abstract readonly type: CelType
  abstract equals(other: CelOpaque): boolean
}

/** A library value around what it was parsed into. */
export abstract class CelBox<T> extends CelOpaque {
  readonly of: T

  constructor(of: T) {
    super()
    this.of = of
  }
}

/** A list, either computed or a view of data. */
export class CelList {
  readonly type: CelType & { readonly kind: 'list' }
  readonly #items: readonly unknown[]
  readonly #convert: Convert | undefined

  constructor(items: readonly unknown[], type: CelType & { readonly kind: 'list' }, convert?: Convert) {
    this.#items = items
    this.type = type
    this.#convert = convert
  }

  static of(items: readonly CelValue[]): CelList {
    return new CelList(items, DYN_LIST)
  }

  get length(): number {
    return this.#items.length
  }

  /** The index must be inside the list. */
  at(i: number): CelValue {
    const item = this.#items[i]
    return this.#convert === undefined ? (item as CelValue) : this.#convert(item, this.type.elem)
  }

  toArray(): CelValue[] {
    return this.#items.map((_, i) => this.at(i))
  }
}

const DYN_LIST = listOf(DYN) as CelType & { readonly kind: 'list' }
const DYN_MAP = mapOf(DYN, DYN)

/** Turns data of the API into a value; handed in, so that views need not know the rules. */
export type Convert = (raw: unknown, type: CelType) => CelValue

export abstract class CelMap {
  abstract readonly size: number
  abstract get(key: CelValue): CelValue | undefined
  abstract keys(): CelValue[]
}

/** The object of JSON as a map; keys are its own keys, whatever their names. */
export class DataMap extends CelMap {
  readonly #data: Readonly<Record<string, unknown>>
  readonly #valueType: CelType
  readonly #convert: Convert

  constructor(data: Readonly<Record<string, unknown>>, valueType: CelType, convert: Convert) {
    super()
    this.#data = data
    this.#valueType = valueType
    this.#convert = convert
  }

  get size(): number {
    return Object.keys(this.#data).length
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.#data, key)) return undefined
    return this.#convert(this.#data[key], this.#valueType)
  }

  keys(): CelValue[] {
    return Object.keys(this.#data)
  }
}

/** A map that an expression built. Numbers that are equal are one key, whatever their type. */
export class BuiltMap extends CelMap {
  readonly #entries = new Map<string, readonly [CelValue, CelValue]>()

  get size(): number {
    return this.#entries.size
  }

  /** False when the key exists already. */
  add(key: CelValue, value: CelValue): boolean {
    const id = keyId(key)
    if (id === undefined || this.#entries.has(id)) return false
    this.#entries.set(id, [key, value])
    return true
  }

  get(key: CelValue): CelValue | undefined {
    const id = keyId(key)
    return id === undefined ? undefined : this.#entries.get(id)?.[1]
  }

  keys(): CelValue[] {
    return Array.from(this.#entries.values(), ([key]) => key)
  }
}

/** What a key is looked up by, or undefined when the value cannot be a key. */
function keyId(key: CelValue): string | undefined {
  if (typeof key === 'string') return `s${key}`
  if (typeof key === 'boolean') return key ? 'true' : 'false'
  if (typeof key === 'bigint') return `n${key}`
  if (typeof key === 'number') return Number.isInteger(key) ? `n${BigInt(key)}` : `n${key}`
  if (key instanceof CelUint) return `n${key.value}`
  return undefined
}

/** An object with declared fields; reads its own keys only, so `__proto__` is nothing special. */
export class CelObject {
  readonly type: CelType & { readonly kind: 'object' }
  readonly data: Readonly<Record<string, unknown>>
  readonly #convert: Convert

  constructor(data: Readonly<Record<string, unknown>>, type: CelType & { readonly kind: 'object' }, convert: Convert) {
    this.data = data
    this.type = type
    this.#convert = convert
  }

  get(escaped: string): CelValue | undefined {
    const field = this.type.fields.get(escaped)
    if (field === undefined || !Object.hasOwn(this.data, field.name)) return undefined
    return this.#convert(this.data[field.name], field.type)
  }
}

/** The type of a value as far as the value itself tells. */
export function typeOfValue(v: CelValue): CelType {
  if (v === null) return NULL
  if (typeof v === 'string') return STRING
  if (typeof v === 'bigint') return INT
  if (typeof v === 'number') return DOUBLE
  if (typeof v === 'boolean') return BOOL
  if (v instanceof CelList) return DYN_LIST
  if (v instanceof CelMap) return DYN_MAP
  if (v instanceof CelObject || v instanceof CelOpaque) return v.type
  if (v instanceof CelUint) return UINT
  if (v instanceof Uint8Array) return BYTES
  if (v instanceof CelTimestamp) return TIMESTAMP
  if (v instanceof CelDuration) return DURATION
  if (v instanceof CelOptional) return optionalOf(DYN)
  if (v instanceof CelTypeValue) return typeOf(undefined)
  return DYN
}

/** Units of size that costs are counted in: characters, bytes, elements; 1 for everything else. */
export function sizeOf(v: CelValue): number {
  if (typeof v === 'string') return codePointCount(v)
  if (v instanceof CelList) return v.length
  if (v instanceof CelMap) return v.size
  if (v instanceof CelObject) return Object.keys(v.data).length
  if (v instanceof Uint8Array) return v.length
  if (v instanceof CelOptional && v.value !== undefined) return sizeOf(v.value)
  return 1
}

export function codePointCount(s: string): number {
  let n = s.length
  for (let i = 1; i < s.length; i++)
    if ((s.charCodeAt(i) & 0xfc00) === 0xdc00 && (s.charCodeAt(i - 1) & 0xfc00) === 0xd800) n--
  return n
}
