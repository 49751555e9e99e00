// Why a component is not as declared: a reason of the catalogue, a sentence, and the last lines that it wrote. Pure.
import type { Reason } from '#api/catalogue.ts'
import { stagingReason } from '#api/protocol/staging-reasons.ts'
import { isKubeNodeError, messageOf } from '#lib/errors.ts'

export interface Cause {
  readonly because: Reason
  readonly message: string
  /** The last lines of its log, when its own behavior is the cause. */
  readonly output?: string
}

/** An error that is not ours is lost I/O: with the API server, the network or the disk. */
export function causeOf(error: unknown, otherwise: Reason): Cause {
  const message = messageOf(error)
  if (!isKubeNodeError(error)) return { because: otherwise, message }
  return { because: reasonIn(error.data) ?? stagingReason(error.code) ?? 'InstallFailed', message }
}

/** A code that stands for several causes says which one it is. */
const reasonIn = (data: Readonly<Record<string, unknown>>): Reason | undefined =>
  data['reason'] === 'FetchFailed' ? data['reason'] : undefined

/** The last line belongs in the sentence: it often names the mistake. */
export function withOutput(cause: Cause, output: string): Cause {
  const last = output.split('\n').at(-1) ?? ''
  return last === '' ? cause : { ...cause, message: `${cause.message}; last output: ${last}`, output }
}
