// A user's options for a plan, and everything read before output starts.
import type { LocalRepository } from '#sync/git/local-repository.ts'
import type { RenderedProblem } from '#sync/render/problems.ts'
import type { Signature } from '#sync/trust/judge.ts'
import type { FailOn } from './fail-on.ts'
import type { MadePlan } from './make-plan.ts'

export interface PlanAsked {
  readonly commit: string
  readonly base?: string
  readonly isFromFork?: boolean
  readonly dirty?: true
  readonly cluster?: string
  readonly repo?: string
  readonly path: string
  readonly output: 'text' | 'markdown' | 'json'
  /** Exit with 1 if something changes. */
  readonly detailedExitcode?: true
  readonly inventory?: readonly string[]
  readonly failOn?: readonly FailOn[]
  readonly maxChars: number
  readonly marker: string
  readonly weakCage: 'allow' | 'refuse'
  /** Note that the fleet's code runs in the weaker cage. */
  readonly weakCageNote: string
}

export interface PlanSeen {
  readonly repository: LocalRepository
  readonly commit: string
  readonly base: string | undefined
  readonly isDirty: boolean
  readonly made: MadePlan
  /** Only for the requested clusters. */
  readonly problems: readonly RenderedProblem[]
  /** Why the base is not an ancestor. */
  readonly apart: string | undefined
  readonly signature: Signature | undefined
}
