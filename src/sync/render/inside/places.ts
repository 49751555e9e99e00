// Where in the files of a fleet something is made: the innermost line of the fleet on the stack. Node removes types in place, so lines are those of the file.
import { FLEET_ROOT } from '../protocol.ts'

/** Between a `new` in a fleet and the tree of constructs lie some ten frames of cdk8s. */
export const MAX_FRAMES = 16

/** Its stack is a place instead of a text: formatting every frame would take longer than making the construct. */
class Here {
  readonly stack?: unknown
}

const decode = decodeURIComponent

/** `fleet/machines/workers.ts:14`; undefined where no line of the fleet is on the stack. */
export function placeHere(): string | undefined {
  const here = new Here()
  Error.captureStackTrace(here, placeHere)
  return typeof here.stack === 'string' ? here.stack : undefined
}

type Frame = NodeJS.CallSite

/** For `Error.prepareStackTrace`: undefined for errors, which are shown otherwise. */
export function placeFor(error: unknown, frames: readonly Frame[]): { readonly place: string | undefined } | undefined {
  if (!(error instanceof Here)) return undefined
  for (const frame of frames) {
    const file = frame.getFileName()
    if (file?.startsWith(FLEET_ROOT) === true)
      return { place: `${decode(file.slice(FLEET_ROOT.length))}:${frame.getLineNumber() ?? 0}` }
  }
  return { place: undefined }
}
