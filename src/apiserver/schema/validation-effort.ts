// How much work one object may make the server do while it is checked.
import { forbidden, fieldOf, type FieldError } from './field-error.ts'

/** In steps of some 50 ns: a tenth of a second, in which the server answers no other request. An object of a megabyte that a person wrote needs a twentieth. */
export const VALIDATION_EFFORT = 2_000_000

/** The answer when that is not enough. */
export const tooExpensive = (path: string): FieldError =>
  forbidden(
    fieldOf(path),
    'checking the value against its schema takes too long; use shorter texts and lists, or simpler patterns and fewer alternatives in the schema',
  )

export const tooExpensiveSchema = (path: string): FieldError =>
  forbidden(
    fieldOf(path),
    'the patterns and defaults of the schema take too long to check; use fewer or simpler patterns',
  )
