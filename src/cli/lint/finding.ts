// What a lint found in a file, with its place.
import type { ErrorCode } from '#lib/errors.ts'

export interface Finding {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly code: ErrorCode
  readonly message: string
  /** `MachineSet/web`, where there is an object. */
  readonly object?: string
  readonly pointer?: string
  /** It may be meant: told, and no failure. */
  readonly isWarning?: true
}
