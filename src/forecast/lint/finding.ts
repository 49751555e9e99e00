// A problem that a lint found in a file, with its position.
import type { ErrorCode } from '#lib/errors.ts'
import { type DeclaredProblem, levelOf } from '#declared/problem.ts'

export interface Finding {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly code: ErrorCode
  readonly message: string
  /** `MachineSet/web`, if there is an object. */
  readonly object?: string
  readonly pointer?: string
  /** Possibly intended: reported, but not a failure. */
  readonly isWarning?: true
  /** For information: nothing is wrong. */
  readonly isNote?: true
}

const MARKS = { error: {}, warning: { isWarning: true }, note: { isNote: true } } as const

export const markOf = (problem: Pick<DeclaredProblem, 'isCertain' | 'isNote'>): Pick<Finding, 'isWarning' | 'isNote'> =>
  MARKS[levelOf(problem)]
