// One reason why a value of an object is refused, in the words and forms that field errors of Kubernetes have.
import type { StatusCause } from '#schema/object.ts'

export type ProblemReason =
  | 'FieldValueRequired'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueDuplicate'
  | 'FieldValueForbidden'
  | 'FieldValueNotFound'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid'

export interface FieldProblem extends StatusCause {
  readonly reason: ProblemReason
  /** The text after "field: ". */
  readonly message: string
  readonly field: string
}

/** Values in messages are JSON; a string is quoted, an absent value is null. */
export const shownValue = (value: unknown): string =>
  JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? Number(v) : v)) ?? 'null'

const withDetail = (text: string, detail: string): string => (detail === '' ? text : `${text}: ${detail}`)

export const required = (field: string, detail = ''): FieldProblem => ({
  reason: 'FieldValueRequired',
  message: withDetail('Required value', detail),
  field,
})

export const invalid = (field: string, value: unknown, detail: string): FieldProblem => ({
  reason: 'FieldValueInvalid',
  message: withDetail(`Invalid value: ${shownValue(value)}`, detail),
  field,
})

export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldProblem => ({
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${shownValue(value)}: supported values: ${supported.map((s) => JSON.stringify(s)).join(', ')}`,
  field,
})

export const duplicate = (field: string, value: unknown): FieldProblem => ({
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${shownValue(value)}`,
  field,
})

export const forbidden = (field: string, detail: string): FieldProblem => ({
  reason: 'FieldValueForbidden',
  message: withDetail('Forbidden', detail),
  field,
})

export const notFound = (field: string, value: unknown): FieldProblem => ({
  reason: 'FieldValueNotFound',
  message: `Not found: ${shownValue(value)}`,
  field,
})

export const tooLong = (field: string, limit: number): FieldProblem => ({
  reason: 'FieldValueTooLong',
  message: `Too long: may not be more than ${limit} bytes`,
  field,
})

export const tooMany = (field: string, count: number, limit: number): FieldProblem => ({
  reason: 'FieldValueTooMany',
  message: `Too many: ${count}: must have at most ${limit} items`,
  field,
})

export const immutable = (field: string, value: unknown): FieldProblem => invalid(field, value, 'field is immutable')
