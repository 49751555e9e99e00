// Checks the keywords on single values: types with their formats, numbers, strings, enums. Words and oddities are those of kube-apiserver 1.36.
import type { Effort } from '#lib/effort.ts'
import { goFloat, goJson, goQuote } from '#lib/go-format.ts'
import { jsonEqual } from '#lib/json.ts'
import { invalid, notSupported, tooLong, typeInvalid, type FieldError } from './field-error.ts'
import type { SchemaNode } from './validate-node.ts'

/** One finding. `text` is its identity: the server reports equal texts once. */
export interface Problem {
  readonly text: string
  /** undefined: the finding belongs to no field. */
  readonly path: string | undefined
  readonly toError: (field: string) => FieldError
}

export type Kind = 'null' | 'boolean' | 'string' | 'integer' | 'number' | 'array' | 'object'

/** A number is an integer when Go reads it as int64: bigint and whole numbers that JavaScript holds exactly. */
export function kindOf(value: unknown): Kind {
  if (Array.isArray(value)) return 'array'
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number'
  if (typeof value === 'bigint') return 'integer'
  return typeof value === 'string' ? 'string' : typeof value === 'boolean' ? 'boolean' : 'object'
}

export const problem = (path: string, said: string, badValue: unknown): Problem => {
  const text = `${path} in body ${said}`
  return { text, path, toError: (field) => invalid(field, badValue, text) }
}

const typeProblem = (path: string, type: string, seen: string): Problem => {
  const text = `${path} in body must be of type ${type}: ${goQuote(seen)}`
  return { text, path, toError: (field) => typeInvalid(field, seen, text) }
}

/** A finding without a field, such as that none of anyOf fits. */
export const looseProblem = (text: string): Problem => ({
  text,
  path: undefined,
  toError: (field) => invalid(field, '', text),
})

/** How far a float may be off a whole number and still be taken for it. */
const WHOLE_TOLERANCE = 1e-9

function isWhole(f: number): boolean {
  if (!(Math.abs(f) <= Number.MAX_SAFE_INTEGER)) return false
  const whole = Math.trunc(f)
  return whole === f || (whole > 0 && (f - whole) / (f + whole) < WHOLE_TOLERANCE)
}

/** Go's name of the format that a value has by itself. */
const NATIVE_FORMATS: Readonly<Partial<Record<Kind, string>>> = { integer: 'int64', number: 'float64' }

/** The problem of a value that is not null; undefined when the type fits. */
export function typeMismatch(node: SchemaNode, value: unknown, kind: Kind, path: string): Problem | undefined {
  const { types, format } = node
  const wantsNumber = types.includes('number') || types.includes('integer')
  const fits =
    types.includes(kind) ||
    (kind === 'number' && types.includes('integer') && isWhole(Number(value))) ||
    (kind === 'integer' && types.includes('number'))
  if (format !== '') {
    const native = NATIVE_FORMATS[kind] ?? ''
    if (kind !== 'string' && kind !== 'array') {
      if (!fits && native !== format) return typeProblem(path, format, native)
    } else if (!wantsNumber) return undefined
  }
  return fits ? undefined : typeProblem(path, types.join(','), kind)
}

export const nullMismatch = (node: SchemaNode, path: string): Problem | undefined =>
  node.types.length === 0 || node.nullable ? undefined : typeProblem(path, node.types.join(','), 'null')

export function enumMismatch(allowed: readonly unknown[], value: unknown, path: string): Problem | undefined {
  if (value !== null && allowed.some((a) => isEnumValue(a, value))) return undefined
  const texts = allowed.map((a) => (typeof a === 'string' ? a : goJson(a)))
  return {
    text: `${path} in body should be one of [${texts.join(' ')}]`,
    path,
    toError: (field) => notSupported(field, value, texts),
  }
}

/** `5n` and `5` are one number; a null in an enum allows nothing. */
const isEnumValue = (allowed: unknown, value: unknown): boolean =>
  allowed === value ||
  (typeof allowed !== typeof value &&
    isWholeNumber(allowed) &&
    isWholeNumber(value) &&
    BigInt(allowed) === BigInt(value)) ||
  (typeof value === 'object' && allowed !== null && jsonEqual(allowed, value))

const isWholeNumber = (v: unknown): v is number | bigint =>
  typeof v === 'bigint' || (typeof v === 'number' && Number.isInteger(v))

/** Throws EffortSpent. */
export function stringProblem(node: SchemaNode, value: string, path: string, effort: Effort): Problem | undefined {
  const { maxLength, minLength, pattern } = node
  if (maxLength !== undefined && value.length > maxLength && lengthOf(value) > maxLength)
    return {
      text: `${path} in body should be at most ${maxLength} chars long`,
      path,
      toError: (f) => tooLong(f, maxLength),
    }
  if (minLength !== undefined && lengthOf(value) < minLength)
    return problem(path, `should be at least ${minLength} chars long`, value)
  if (pattern && !pattern.regex)
    return problem(path, `should match '${pattern.source}, but pattern is invalid: ${pattern.problem}'`, value)
  if (pattern?.regex && !pattern.regex.test(value, effort))
    return problem(path, `should match '${pattern.source}'`, value)
  return undefined
}

/** Code points, as Go counts runes. */
function lengthOf(text: string): number {
  let n = 0
  for (let i = 0; i < text.length; i++, n++) if ((text.codePointAt(i) ?? 0) > 0xffff) i++
  return n
}

export function formatMismatch(node: SchemaNode, value: string, path: string): Problem | undefined {
  return node.formatCheck?.(value) === false ? typeProblem(path, node.format, value) : undefined
}

const MIN_INT64 = -(2n ** 63n)
const MAX_INT64 = 2n ** 63n - 1n
const MAX_FLOAT32 = 3.4028234663852886e38

/** Whether a number can be held by the type and format; the server's words name no field. */
function rangeProblem(node: SchemaNode, value: number | bigint, what: string, path: string): Problem | undefined {
  if (node.types.length !== 1) return undefined
  const type = node.types[0] ?? ''
  if (type === 'integer' && fitsInteger(value, node.format)) return undefined
  if (type !== 'integer' && !(type === 'number' && node.format === 'float' && Math.abs(Number(value)) > MAX_FLOAT32))
    return undefined
  const wanted = node.format === '' ? `${type} (default format)` : `${type} with format ${node.format}`
  return looseProblem(`${what} value must be of type ${wanted} in ${path}`)
}

function fitsInteger(value: number | bigint, format: string): boolean {
  if (typeof value === 'number' && !Number.isInteger(value)) return false
  const n = BigInt(value)
  return format === 'int32' ? BigInt.asIntN(32, n) === n : n >= MIN_INT64 && n <= MAX_INT64
}

/** Integers meet a bound cut to an integer, floats the bound as it is: so does the server. */
export function checkNumber(node: SchemaNode, value: number | bigint, path: string, out: Problem[]): void {
  const add = (...found: readonly (Problem | undefined)[]) => {
    for (const f of found) if (f) out.push(f)
  }
  add(rangeProblem(node, value, 'Checked', path))
  const whole = typeof value === 'bigint' || Number.isSafeInteger(value)
  const { multipleOf, minimum, maximum } = node
  if (multipleOf !== undefined) {
    const off = rangeProblem(node, multipleOf, 'MultipleOf', path)
    const native = whole && !off
    add(off, multipleProblem(native ? value : Number(value), native ? Math.trunc(multipleOf) : multipleOf, path))
  }
  if (minimum !== undefined) {
    const off = rangeProblem(node, minimum, 'Minimum boundary', path)
    const exclusive = node.exclusiveMinimum
    add(off, boundProblem({ value, bound: minimum, native: whole && !off, exclusive, side: 'least' }, path))
  }
  if (maximum !== undefined) {
    const off = rangeProblem(node, maximum, 'Maximum boundary', path)
    const exclusive = node.exclusiveMaximum
    add(off, boundProblem({ value, bound: maximum, native: whole && !off, exclusive, side: 'most' }, path))
  }
}

interface Bound {
  readonly value: number | bigint
  readonly bound: number
  /** Compared as int64, not as a float. */
  readonly native: boolean
  readonly exclusive: boolean
  readonly side: 'least' | 'most'
}

function boundProblem({ value, bound, native, exclusive, side }: Bound, path: string): Problem | undefined {
  const limit = native ? Math.trunc(bound) : bound
  const beyond = side === 'most' ? value > limit : value < limit
  if (!beyond && !(exclusive && Number(value) === limit)) return undefined
  const relation = side === 'most' ? 'less than' : 'greater than'
  const text = native ? String(BigInt(limit)) : goFloat(limit)
  return problem(path, `should be ${relation}${exclusive ? '' : ' or equal to'} ${text}`, value)
}

function multipleProblem(value: number | bigint, factor: number, path: string): Problem | undefined {
  const printed = Number.isSafeInteger(factor) ? String(factor) : goFloat(factor)
  if (factor <= 0) {
    const text = `factor MultipleOf declared for ${path} must be positive: ${printed}`
    return { text, path, toError: (field) => invalid(field, factor, text) }
  }
  return isMultiple(value, factor) ? undefined : problem(path, `should be a multiple of ${printed}`, value)
}

function isMultiple(value: number | bigint, factor: number): boolean {
  if (typeof value === 'bigint') return value % BigInt(factor) === 0n
  if (Number.isSafeInteger(value) && Number.isInteger(factor)) return value % factor === 0
  const times = factor < 1 ? (1 / factor) * value : value / factor
  return isWhole(times) || isWhole(-times)
}
