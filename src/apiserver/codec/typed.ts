// Reads a JSON value as the Go struct of a built-in kind would: unknown fields are removed (and reported), empty values are dropped or
// written out as the field's tag requires, times and quantities become canonical, a wrong type is an error in Go's words.
import { assertNever } from '#lib/errors.ts'
import { isObject, setOwn } from '#lib/json.ts'
import { canonicalQuantity, QUANTITY_MESSAGE } from '#lib/quantity.ts'
import type { BuiltinSchema } from '../builtin/kind.ts'
import { tooManyUnknown } from '../status/refusal.ts'
import { readMicroTime, readTime, type TimeOutcome } from './go-time.ts'

export interface TypedValue {
  readonly value: { readonly [field: string]: unknown }
  /** Paths of fields that the struct does not have. */
  readonly unknownFields: readonly string[]
}

/** A real mistake has few of them; each costs a path to build, to sort and to report. */
export const MAX_UNKNOWN_FIELDS = 1_000

/** The value cannot be read; the message is Go's. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError'
}

type Mark = BuiltinSchema['x-go-field']
type Scalar =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'float64'
  | 'time'
  | 'microTime'
  | 'bytes'
  | 'quantity'
  | 'intOrString'
  | 'any'

interface Field {
  readonly name: string
  readonly mark: Mark
  readonly shape: () => Shape
}

type Shape =
  | {
      readonly t: 'struct'
      readonly go: string
      readonly fields: ReadonlyMap<string, Field>
      readonly always: readonly Field[]
    }
  | { readonly t: 'map'; readonly values: () => Shape }
  | { readonly t: 'list'; readonly items: () => Shape }
  | { readonly t: 'scalar'; readonly scalar: Scalar }

const shapes = new WeakMap<BuiltinSchema, Shape>()
const ANY: BuiltinSchema = { 'x-kubernetes-preserve-unknown-fields': true }

function shapeOf(schema: BuiltinSchema): Shape {
  let shape = shapes.get(schema)
  if (shape === undefined) {
    shape = makeShape(schema)
    shapes.set(schema, shape)
  }
  return shape
}

function makeShape(schema: BuiltinSchema): Shape {
  if (schema.properties !== undefined) {
    const fields = new Map(
      Object.entries(schema.properties).map(([name, s]): [string, Field] => [
        name,
        { name, mark: s['x-go-field'], shape: () => shapeOf(s) },
      ]),
    )
    const always = [...fields.values()].filter((f) => f.mark === 'always' || f.mark === 'alwaysPointer')
    return { t: 'struct', go: schema['x-go-struct'] ?? '', fields, always }
  }
  if (schema.type === 'array') return { t: 'list', items: () => shapeOf(schema.items ?? ANY) }
  const values = schema.additionalProperties
  if (isObject(values)) return { t: 'map', values: () => shapeOf(values) }
  return { t: 'scalar', scalar: scalarOf(schema) }
}

function scalarOf(schema: BuiltinSchema): Scalar {
  if (schema['x-kubernetes-int-or-string'] === true) return 'intOrString'
  switch (schema.type) {
    case 'boolean':
      return 'bool'
    case 'integer':
      return schema.format === 'int32' ? 'int32' : 'int64'
    case 'number':
      return 'float64'
    case 'string':
      return STRING_FORMATS[schema.format ?? ''] ?? 'string'
    case 'object':
    case 'array':
    case undefined:
      return 'any'
    default:
      return assertNever(schema.type)
  }
}

const STRING_FORMATS: Readonly<Record<string, Scalar | undefined>> = {
  'date-time': 'time',
  'micro-time': 'microTime',
  byte: 'bytes',
  quantity: 'quantity',
}

/** The current position: for unknown fields the path with indices, for errors the struct and the path of fields alone. */
interface At {
  readonly path: string
  readonly go: string
  readonly fields: string
}

const KEEPS_EMPTY: ReadonlySet<Mark> = new Set(['pointer', 'alwaysPointer', 'emptyList'])

class Reader {
  readonly unknown: string[] = []

  read(shape: Shape, value: unknown, at: At): unknown {
    switch (shape.t) {
      case 'struct':
        return this.struct(shape, value, at)
      case 'map':
        return this.map(shape, value, at)
      case 'list':
        return this.list(shape, value, at)
      case 'scalar':
        return scalar(shape.scalar, value, at)
      default:
        return assertNever(shape)
    }
  }

  struct(shape: Shape & { readonly t: 'struct' }, value: unknown, at: At): Record<string, unknown> {
    if (!isObject(value)) throw mismatch(value, at, goType(shape))
    const out: Record<string, unknown> = {}
    for (const key of Object.keys(value)) {
      const field = shape.fields.get(key)
      const path = at.path === '' ? key : `${at.path}.${key}`
      if (field === undefined) {
        this.unknown.push(path)
        if (this.unknown.length > MAX_UNKNOWN_FIELDS) throw tooManyUnknown(MAX_UNKNOWN_FIELDS)
        continue
      }
      const given = value[key]
      if (given === null || given === undefined) continue
      const below = { path, go: shape.go, fields: at.fields === '' ? key : `${at.fields}.${key}` }
      const read = this.read(field.shape(), given, below)
      if (KEEPS_EMPTY.has(field.mark) || !isEmpty(read)) out[key] = read
    }
    for (const field of shape.always)
      if (out[field.name] === undefined) out[field.name] = field.mark === 'always' ? this.zero(field.shape()) : null
    return out
  }

  map(shape: Shape & { readonly t: 'map' }, value: unknown, at: At): Record<string, unknown> {
    if (!isObject(value)) throw mismatch(value, at, goType(shape))
    const out: Record<string, unknown> = {}
    const values = shape.values()
    for (const key of Object.keys(value)) {
      const given = value[key]
      const read = given === null ? this.zero(values) : this.read(values, given, { ...at, path: `${at.path}.${key}` })
      setOwn(out, key, read)
    }
    return out
  }

  list(shape: Shape & { readonly t: 'list' }, value: unknown, at: At): unknown[] {
    if (!Array.isArray(value)) throw mismatch(value, at, goType(shape))
    const items = shape.items()
    return value.map((given: unknown, i) =>
      given === null ? this.zero(items) : this.read(items, given, { ...at, path: `${at.path}[${i}]` }),
    )
  }

  /** Go's output for a value that was never set. */
  zero(shape: Shape): unknown {
    switch (shape.t) {
      case 'struct':
        return this.struct(shape, {}, { path: '', go: '', fields: '' })
      case 'map':
      case 'list':
        return null
      case 'scalar':
        return ZERO[shape.scalar]
      default:
        return assertNever(shape)
    }
  }
}

const ZERO: Readonly<Record<Scalar, unknown>> = {
  string: '',
  bool: false,
  int32: 0,
  int64: 0,
  float64: 0,
  time: null,
  microTime: null,
  bytes: null,
  quantity: '0',
  intOrString: 0,
  any: null,
}

function isEmpty(v: unknown): boolean {
  if (v === '' || v === 0 || v === false || v === null) return true
  if (Array.isArray(v)) return v.length === 0
  if (typeof v !== 'object') return false
  for (const _ in v) return false
  return true
}

function scalar(kind: Scalar, value: unknown, at: At): unknown {
  switch (kind) {
    case 'any':
      return value
    case 'bool':
      if (typeof value !== 'boolean') throw mismatch(value, at, 'bool')
      return value
    case 'string':
      if (typeof value !== 'string') throw mismatch(value, at, 'string')
      return value
    case 'int32':
    case 'int64':
      return wholeNumber(kind, value, at)
    case 'float64':
      if (typeof value !== 'number' && typeof value !== 'bigint') throw mismatch(value, at, 'float64')
      return value
    case 'time':
      return timeOf(value, readTime)
    case 'microTime':
      return timeOf(value, readMicroTime)
    case 'bytes':
      return base64(value, at)
    case 'quantity':
      return quantityOf(value)
    case 'intOrString':
      if (typeof value === 'string') return value
      return wholeNumber('int32', value, undefined)
    default:
      return assertNever(kind)
  }
}

const INT32_MAX = 2 ** 31

function wholeNumber(kind: 'int32' | 'int64', value: unknown, at: At | undefined): unknown {
  if (typeof value === 'bigint' && kind === 'int64') return value
  if (typeof value !== 'number' && typeof value !== 'bigint') throw mismatch(value, at, kind)
  const fits = kind === 'int64' ? Number.isSafeInteger(value) : value >= -INT32_MAX && value < INT32_MAX
  if (!fits || (typeof value === 'number' && !Number.isInteger(value))) throw mismatch(value, at, kind, true)
  return value
}

function timeOf(value: unknown, read: (text: string) => TimeOutcome): string | null {
  if (typeof value !== 'string') throw mismatch(value, undefined, 'string')
  if (value === '') throw new DecodeError('parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"')
  const outcome = read(value)
  if ('error' in outcome) throw new DecodeError(outcome.error)
  return outcome.time
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

function base64(value: unknown, at: At): string {
  if (typeof value !== 'string') throw mismatch(value, at, '[]uint8')
  const text = value.replace(/[\r\n]/g, '')
  if (BASE64.test(text)) return text
  const good = /^[A-Za-z0-9+/]*/.exec(text)?.[0].length ?? 0
  throw new DecodeError(`illegal base64 data at input byte ${good < text.length ? good : good - (good % 4)}`)
}

function quantityOf(value: unknown): string {
  const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value
  if (text === '') return '0'
  const canonical = typeof text === 'string' ? canonicalQuantity(text.trim()) : undefined
  if (canonical === undefined) throw new DecodeError(QUANTITY_MESSAGE)
  return canonical
}

function goType(shape: Shape): string {
  switch (shape.t) {
    case 'struct':
      return `v1.${shape.go}`
    case 'map':
      return `map[string]${goType(shape.values())}`
    case 'list':
      return `[]${goType(shape.items())}`
    case 'scalar':
      return shape.scalar === 'bytes' ? '[]uint8' : shape.scalar
    default:
      return assertNever(shape)
  }
}

function jsonTypeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'bigint') return 'number'
  return typeof value
}

function mismatch(value: unknown, at: At | undefined, goTypeName: string, showNumber = false): DecodeError {
  const what = showNumber ? `number ${String(value)}` : jsonTypeOf(value)
  const where =
    at === undefined || at.fields === '' ? `Go value of type` : `Go struct field ${at.go}.${at.fields} of type`
  return new DecodeError(`json: cannot unmarshal ${what} into ${where} ${goTypeName}`)
}

/** The schema must describe an object with properties. */
export function readTyped(schema: BuiltinSchema, value: unknown): TypedValue {
  const shape = shapeOf(schema)
  const reader = new Reader()
  const read = reader.read(shape, value, { path: '', go: '', fields: '' })
  return { value: isObject(read) ? read : {}, unknownFields: reader.unknown }
}

/** As `readTyped`, for one field (`metadata` of a custom resource); paths begin with its name. */
export function readTypedField(schema: BuiltinSchema, value: unknown, name: string): TypedValue {
  const reader = new Reader()
  const read = reader.read(shapeOf(schema), value, { path: name, go: schema['x-go-struct'] ?? '', fields: name })
  return { value: isObject(read) ? read : {}, unknownFields: reader.unknown }
}
