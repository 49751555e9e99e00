// Why a component is not as declared: a reason from the catalog, a sentence, and the last lines of its output. Pure.
import type { Reason } from '#api/catalogue.ts'
import { stagingReason } from '#api/protocol/staging-reasons.ts'
import { isKubeNodeError, messageOf } from '#lib/errors.ts'

export interface Cause {
  readonly because: Reason
  readonly message: string
  /** The last lines of its log, when its own behavior is the cause. */
  readonly output?: string
}

/** Any other error is lost I/O: with the API server, the network or the disk. */
export function causeOf(error: unknown, otherwise: Reason): Cause {
  const message = messageOf(error)
  if (!isKubeNodeError(error)) return { because: otherwise, message }
  return { because: reasonIn(error.data) ?? stagingReason(error.code) ?? 'InstallFailed', message }
}

/** A code with several causes carries the one that applies. */
const reasonIn = (data: Readonly<Record<string, unknown>>): Reason | undefined =>
  data['reason'] === 'FetchFailed' ? data['reason'] : undefined

/** The last output line belongs in the sentence: it often names the mistake. */
export function withOutput(cause: Cause, output: string): Cause {
  const last = output.split('\n').at(-1) ?? ''
  return last === '' ? cause : { ...cause, message: `${cause.message}; last output: ${last}`, output }
}
