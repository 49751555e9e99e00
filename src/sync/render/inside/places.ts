// Where in a fleet's files an object is made: the innermost fleet line on the stack. Node removes types in place, so line numbers match the file.
import { FLEET_ROOT } from '../protocol.ts'

/** About ten cdk8s frames are between a `new` in a fleet and the construct tree. */
export const MAX_FRAMES = 16

/** Its stack is a place instead of a text: formatting every frame would take longer than creating the construct. */
class Here {
  readonly stack?: unknown
}

const decode = decodeURIComponent

/** `fleet/machines/workers.ts:14`; undefined when no fleet line is on the stack. */
export function placeHere(): string | undefined {
  const here = new Here()
  Error.captureStackTrace(here, placeHere)
  return typeof here.stack === 'string' ? here.stack : undefined
}

type Frame = NodeJS.CallSite

/** For `Error.prepareStackTrace`: undefined for real errors, which are shown differently. */
export function placeFor(error: unknown, frames: readonly Frame[]): { readonly place: string | undefined } | undefined {
  if (!(error instanceof Here)) return undefined
  for (const frame of frames) {
    const file = frame.getFileName()
    if (file?.startsWith(FLEET_ROOT) === true)
      return { place: `${decode(file.slice(FLEET_ROOT.length))}:${frame.getLineNumber() ?? 0}` }
  }
  return { place: undefined }
}
