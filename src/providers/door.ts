// Checks everything that comes from another program or a cloud once, on entry: it either fits the model's schemas or is not an answer. Providers inside this
// program are not checked here; the conformance cases test them.
import type { Checked } from '#api/field-problems.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { providersErrors } from './providers-errors.ts'

/** The other side answered with something unusable. */
export class BadAnswer extends Error {}

/** Throws if the schema refuses the value. The error does not repeat the value, which may be long or a secret. */
export function checked<T>(result: Checked<T>): T {
  if (result.kind === 'Value') return result.value
  const { pointer, message, allowed } = result.problem
  const field = pointer === '' ? 'it' : pointer.slice(1).replaceAll('/', '.').slice(0, 100)
  throw new BadAnswer(`${printableLine(field)} ${message}${allowed === undefined ? '' : ` (allowed: ${allowed})`}`)
}

/** Turns a bad answer into an error of this provider. */
export function judged<T>(name: string, what: string, judge: () => T): T {
  try {
    return judge()
  } catch (error) {
    if (!(error instanceof BadAnswer)) throw error
    throw new KubeNodeError(providersErrors.KN11061_wrong({ name, what, why: error.message }), { retry: 'later' })
  }
}
