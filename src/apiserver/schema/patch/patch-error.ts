// The one error of patches that cannot be applied: which rule was broken, and how the API answers it.
import { goText } from '#lib/go-text.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { schemaErrors } from '#api/schema/schema-errors.ts'

/** NotAPatch: the body has the wrong form. TooMany: over the bound. DoesNotApply: well formed, but not to this object. Internal: the real server answers 500. */
export type PatchErrorKind = 'NotAPatch' | 'TooMany' | 'DoesNotApply' | 'Internal'

const HTTP_CODES: Readonly<Record<PatchErrorKind, number>> = {
  NotAPatch: 400,
  TooMany: 413,
  DoesNotApply: 422,
  Internal: 500,
}
const NUMBERS = {
  NotAPatch: 'KN5301',
  TooMany: 'KN5302',
  DoesNotApply: 'KN5303',
  Internal: 'KN5301',
} as const satisfies Readonly<Record<PatchErrorKind, keyof typeof schemaErrors>>

/** The API's message for every patch that does not apply; only our own message gives the reason. */
const DOES_NOT_APPLY_TEXT = 'the server rejected our request due to an error in our request'

export class PatchError extends KubeNodeError {
  readonly kind: PatchErrorKind
  /** The HTTP code of the answer. */
  readonly httpCode: number
  /** The message of the answer, as the real server words it. */
  readonly statusMessage: string

  constructor(
    kind: PatchErrorKind,
    reason: string,
    statusMessage = kind === 'DoesNotApply' ? DOES_NOT_APPLY_TEXT : reason,
  ) {
    super(schemaErrors[NUMBERS[kind]]({ reason }))
    this.kind = kind
    this.httpCode = HTTP_CODES[kind]
    this.statusMessage = statusMessage
  }
}

/** A test operation that did not hold: where patches may be conditional, nothing is wrong. */
export class FailedTest extends PatchError {
  constructor(reason: string) {
    super('DoesNotApply', reason)
  }
}

export const unknownDirective = (directive: unknown, patch: unknown): PatchError =>
  new PatchError('Internal', `unknown patch type: ${goText(directive)} in map: ${goText(patch)}`)
