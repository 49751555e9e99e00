// The message and place of a fleet's error. The thrown value belongs to the fleet: it may be anything, and reading it may run code.
import type { FleetError } from '../protocol.ts'
import { ImportRefused, JsonRefused } from './release.ts'

const LOCATION = /fleet:\/\/\/([^\s:)]+(?::\d+){1,2})/

export function describe(error: unknown): FleetError {
  try {
    const { stack = '', message }: { readonly stack?: unknown; readonly message: unknown } =
      error instanceof Error ? error : { message: `threw ${String(error)}` }
    const at =
      (error instanceof ImportRefused || error instanceof JsonRefused ? error.at : undefined) ??
      LOCATION.exec(String(stack))?.[1] ??
      madeAt(error)
    const isSyntax = error instanceof SyntaxError
    const kind = error instanceof ImportRefused ? 'Import' : isSyntax ? 'Syntax' : 'Thrown'
    return {
      kind,
      message: String(message).slice(0, 4_000),
      ...(at === undefined ? {} : { at: decoded(at.slice(0, 1_000)) }),
    }
  } catch {
    return { kind: 'Thrown', message: 'threw something that cannot be shown' }
  }
}

/**
 * For a construct that fails late: the line that created it, unless a fleet line failed. Checks the class by name, because the class may not be loaded
 * yet.
 */
function madeAt(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'ConstructFailed') return undefined
  const { cause, at } = error as { readonly cause?: unknown; readonly at?: unknown }
  const stack = cause instanceof Error ? String(cause.stack) : ''
  return LOCATION.exec(stack)?.[1] ?? (typeof at === 'string' ? at : undefined)
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
