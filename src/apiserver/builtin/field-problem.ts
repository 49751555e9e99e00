// The words for problems of fields that strategies of built-in kinds use: those of the schema machinery, and a few more.
import { invalid, type FieldError } from '../schema/field-error.ts'

export {
  duplicate,
  forbidden,
  invalid,
  notFound,
  notSupported,
  required,
  StructValue,
  tooLong,
} from '../schema/field-error.ts'

export type FieldProblem = FieldError

export const immutable = (field: string, value: unknown): FieldProblem =>
  invalid(field, value ?? null, 'field is immutable')
