// Turns the end of a caged run into its answer, or into the error that says by which limit it ended.
import { KubeNodeError, assertNever } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { RenderAnswer } from './protocol.ts'
import type { CagedEnd } from './run-caged.ts'
import { syncErrors } from '../sync-errors.ts'

/** Made by code of the fleet: every field may be missing or of another type. */
export type UncheckedAnswer = Partial<RenderAnswer>

/** `what` could not be done, as in `render commit 3f1c9e0a7b5d`. */
export function answered(end: CagedEnd, what: string): { readonly answer: UncheckedAnswer; readonly printed: string } {
  switch (end.kind) {
    case 'Answered':
      return { answer: answerIn(end.text, what), printed: end.printed }
    case 'Deadline':
      throw new KubeNodeError(syncErrors.KN7104({ what, deadlineMs: end.deadlineMs }))
    case 'PrintedTooMuch':
      throw new KubeNodeError(syncErrors.KN7105({ what, limit: end.limit }))
    case 'AnswerTooLarge':
      throw new KubeNodeError(syncErrors.KN7114({ what, limit: end.limit }))
    case 'OutOfMemory':
      throw new KubeNodeError(syncErrors.KN7115({ what }))
    case 'Superseded':
      throw new KubeNodeError(syncErrors.KN7113({ what }))
    case 'Ended':
      throw new KubeNodeError(syncErrors.KN7106({ what, how: `${end.how}${lastLine(end.printed)}` }))
    default:
      return assertNever(end)
  }
}

const lastLine = (printed: string): string => {
  const line = printed.trim().split('\n').at(-1) ?? ''
  return line === '' ? '' : `; output: ${line.slice(0, 300)}`
}

function answerIn(text: string, what: string): UncheckedAnswer {
  try {
    const answer: unknown = JSON.parse(text)
    if (isObject(answer)) return answer
  } catch (cause) {
    throw new KubeNodeError(syncErrors.KN7116({ what }), { cause })
  }
  throw new KubeNodeError(syncErrors.KN7116({ what }))
}
