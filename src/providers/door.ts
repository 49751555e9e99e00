// What comes in from another program or from a cloud is judged where it comes in, once: it fits the schemas of the model, or it is no answer at all. A provider in this
// program is not judged; its own tests are the conformance cases.
import type { Checked } from '#api/field-problems.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { providersErrors } from './providers-errors.ts'

/** The other side answered, but with nothing that can be used. */
export class BadAnswer extends Error {}

/** Throws for what the schema refuses; the value itself is not repeated, since it may be long or a secret. */
export function checked<T>(result: Checked<T>): T {
  if (result.kind === 'Value') return result.value
  const { pointer, message, allowed } = result.problem
  const field = pointer === '' ? 'it' : pointer.slice(1).replaceAll('/', '.').slice(0, 100)
  throw new BadAnswer(`${printableLine(field)} ${message}${allowed === undefined ? '' : ` (allowed: ${allowed})`}`)
}

/** Turns a bad answer into an error of the provider of this name. */
export function judged<T>(name: string, what: string, judge: () => T): T {
  try {
    return judge()
  } catch (error) {
    if (!(error instanceof BadAnswer)) throw error
    throw new KubeNodeError(providersErrors.KN11080_wrong({ name, what, why: error.message }), { retry: 'later' })
  }
}
