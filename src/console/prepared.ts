// What the server and the page say to each other about prepared commits. Types only.
import type { CertainPlan, DiffLine } from './plan.ts'

/** What the commit is to change. */
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

/** The FleetSource whose branch the commit is for. */
export interface SourceName {
  readonly cluster: string
  readonly namespace: string
  readonly name: string
}

/** POST /api/prepare `{ source, change, author, email, reason }`: makes a commit and writes it nowhere. */
export interface PreparedCommit {
  /** Of the commit; it is known to this console for a while. */
  readonly id: string
  readonly base: string
  /** Of the repository that a push writes to, and that is sent the token. */
  readonly url: string
  /** The branch that the source follows. */
  readonly follows: string
  /** The name of a branch for a review. */
  readonly branch: string
  readonly message: string
  /** For `git am`. */
  readonly patch: string
  readonly lines: readonly DiffLine[]
  readonly plan: CertainPlan
  /** What to know before it is pushed, such as signatures that the source demands. */
  readonly warnings: readonly string[]
  /** Why it cannot be pushed to the followed branch. */
  readonly refused?: string
  /** A push needs credentials. */
  readonly needsToken: boolean
}

/** POST /api/push: writes the prepared commit to a branch with the credentials of the person, which are used once. */
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
