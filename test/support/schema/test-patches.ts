// What the tests of patches share: inputs that no patch may change, and how a patch was refused.
import { PatchError, type PatchErrorKind } from '#apiserver/schema/patch/patch-error.ts'

/** Frozen all the way down: a patch that changes its input throws. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) frozen(inner)
  return Object.freeze(value)
}

export function failureOf(run: () => unknown): { kind: PatchErrorKind; httpCode: number; statusMessage: string } {
  try {
    run()
  } catch (e) {
    if (e instanceof PatchError) return { kind: e.kind, httpCode: e.httpCode, statusMessage: e.statusMessage }
    throw e
  }
  throw new Error('the patch was applied')
}
