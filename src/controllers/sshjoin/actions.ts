// The actions of the join over SSH.
import type { SshJoin, SshSessionStep } from '#api/kinds/machine.ts'
import type { Plan } from '#runtime/reconcile-with.ts'

export type JoinStep = SshJoin['step']

export type JoinAction =
  /** Records the attempt, then runs the script of the step on the host. Can be repeated at any point. */
  { readonly kind: 'RunStep'; readonly step: SshSessionStep; readonly join: SshJoin; readonly reason: string }

export interface JoinPlan extends Plan<JoinAction> {
  /** The progress to report if no step runs; undefined: as it is. */
  readonly join?: SshJoin
}
