// Messages between server and page about prepared commits. Types only.
import type { CertainPlan, DiffLine } from './plan.ts'

/** The change that the commit should make. */
export type ChangeRequest =
  | {
      readonly kind: 'Version'
      /** The MachineComponentSet, in one of its clusters. */
      readonly cluster: string
      readonly set: string
      readonly component: string
      readonly from: string
      readonly to: string
    }
  /** Nodes that become observed Machines. */
  | { readonly kind: 'Import'; readonly cluster: string; readonly nodes: readonly string[] }
  /** Machines that nothing may disrupt until a later commit, or that may be disrupted again. */
  | {
      readonly kind: 'Protect' | 'Unprotect'
      readonly cluster: string
      readonly machines: readonly string[]
    }

/** The FleetSource whose branch the commit is for. */
export interface SourceName {
  readonly cluster: string
  readonly namespace: string
  readonly name: string
}

/** What the commit means for one machine, by its state now. */
export interface MachineEffect {
  readonly machine: string
  readonly text: string
}

/** POST /api/prepare `{ source, change, author, email, reason }`: creates a commit without writing it anywhere. */
export interface PreparedCommit {
  /** Commit id, which this console remembers for a while. */
  readonly id: string
  readonly base: string
  /** The repository that a push writes to and that receives the token. */
  readonly url: string
  /** The branch that the source follows. */
  readonly follows: string
  /** Suggested branch name for a review. */
  readonly branch: string
  readonly message: string
  /** For `git am`. */
  readonly patch: string
  readonly lines: readonly DiffLine[]
  readonly plan: CertainPlan
  /** For a change of named machines. */
  readonly machines?: readonly MachineEffect[]
  /** Warnings before a push, such as signatures that the source requires. */
  readonly warnings: readonly string[]
  /** Why it cannot be pushed to the followed branch. */
  readonly refused?: string
  /** A push needs credentials. */
  readonly needsToken: boolean
}

/** POST /api/predict: what a prepared commit does to machines, by the clusters that the user may read; the answer is a `Part<PredictedPlan>`. */
export interface PredictRequest {
  readonly id: string
}

/** POST /api/push: writes the prepared commit to a branch with the user's credentials, which are used once. */
export interface PushRequest {
  readonly id: string
  readonly branch: string
  readonly username?: string
  readonly token?: string
}

export interface PushedCommit {
  readonly commit: string
  readonly branch: string
}
