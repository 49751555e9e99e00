// One problem of one field, and the exact words a kube-apiserver has for it in `details.causes` and in the message of an Invalid status.
import { goFloat, goJson, goQuote } from '#lib/go-format.ts'
import type { StatusCause } from '#api/schema/object.ts'

/** The words that stand before a detail; the keys are the `reason` of a cause. */
const TITLES = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTooFew: 'Too few',
  FieldValueTypeInvalid: 'Invalid value',
  FieldValueTooShort: 'Too short',
  InternalError: 'Internal error',
} as const

type FieldErrorType = keyof typeof TITLES

export interface FieldError {
  readonly type: FieldErrorType
  /** `spec.steps[0].name`; `<nil>` where the server names no field. */
  readonly field: string
  /** undefined: the message shows no value. */
  readonly badValue?: unknown
  readonly detail: string
}

/** The field of an error that belongs to no field, as Go prints a path that is nil. */
const NO_FIELD = '<nil>'

/** A value whose keys keep their order in messages, as those of a Go struct do; maps are sorted. */
export class StructValue {
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }
}

/** Types whose message never shows the value. */
const SILENT: ReadonlySet<FieldErrorType> = new Set([
  'FieldValueRequired',
  'FieldValueForbidden',
  'FieldValueTooLong',
  'FieldValueTooShort',
  'InternalError',
])

/** The message of the cause: `Invalid value: "x": must be lower case`. */
export function fieldErrorMessage(e: FieldError): string {
  const title = TITLES[e.type]
  const shown = SILENT.has(e.type) || e.badValue === undefined ? title : `${title}: ${printed(e.badValue)}`
  return e.detail === '' ? shown : `${shown}: ${e.detail}`
}

function printed(value: unknown): string {
  if (typeof value === 'string') return goQuote(value)
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : goFloat(value)
  return value instanceof StructValue ? goJson(value.value, 'as-given') : goJson(value)
}

/** `spec.a: Invalid value: …`, one line of the message of a status. */
export const fieldErrorLine = (e: FieldError): string => `${e.field}: ${fieldErrorMessage(e)}`

export const toCause = (e: FieldError): StatusCause => ({
  reason: e.type,
  message: fieldErrorMessage(e),
  field: e.field,
})

/** What stands behind `is invalid: `: one line as it is, several in brackets, each once. */
export function aggregateMessage(errors: readonly FieldError[]): string {
  const lines = [...new Set(errors.map(fieldErrorLine))]
  return lines.length === 1 ? (lines[0] ?? '') : `[${lines.join(', ')}]`
}

const error = (type: FieldErrorType, field: string, detail: string, badValue?: unknown): FieldError =>
  badValue === undefined ? { type, field, detail } : { type, field, badValue, detail }

export const invalid = (field: string, badValue: unknown, detail: string): FieldError =>
  error('FieldValueInvalid', field, detail, badValue)
export const typeInvalid = (field: string, badValue: unknown, detail: string): FieldError =>
  error('FieldValueTypeInvalid', field, detail, badValue)
export const required = (field: string, detail = ''): FieldError => error('FieldValueRequired', field, detail)
export const forbidden = (field: string, detail: string): FieldError => error('FieldValueForbidden', field, detail)
export const duplicate = (field: string, badValue: unknown): FieldError =>
  error('FieldValueDuplicate', field, '', badValue)
export const notFound = (field: string, badValue: unknown): FieldError =>
  error('FieldValueNotFound', field, '', badValue)
export const internal = (field: string, detail: string): FieldError => error('InternalError', field, detail)

export function notSupported(field: string, badValue: unknown, supported: readonly string[]): FieldError {
  const detail = supported.length === 0 ? '' : `supported values: ${supported.map(goQuote).join(', ')}`
  return error('FieldValueNotSupported', field, detail, badValue)
}

/** The limit may count characters; the words of the server say bytes all the same. */
export const tooLong = (field: string, max: number): FieldError =>
  error('FieldValueTooLong', field, `may not be more than ${max} ${max === 1 ? 'byte' : 'bytes'}`)
export const tooShort = (field: string, min: number): FieldError =>
  error('FieldValueTooShort', field, `must be at least ${min} ${min === 1 ? 'character' : 'characters'}`)
export const tooMany = (field: string, actual: number, max: number): FieldError =>
  error('FieldValueTooMany', field, `must have at most ${max} ${max === 1 ? 'item' : 'items'}`, actual)

/** `a` + `b` → `a.b`; the empty path is the root. */
export const childPath = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)
export const keyPath = (path: string, key: string | number): string => `${path}[${key}]`
/** The root has no name. */
export const fieldOf = (path: string): string => (path === '' ? NO_FIELD : path)
