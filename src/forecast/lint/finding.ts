// A problem that a lint found in a file, with its position.
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
  /** It may be intended: reported, but no failure. */
  readonly isWarning?: true
}
