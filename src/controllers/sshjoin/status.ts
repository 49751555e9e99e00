// The progress of a join after one reconcile. Pure.
import type { SshJoin } from '#api/kinds/machine.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import type { JoinAction, JoinPlan } from './actions.ts'
import { type StepResult, afterStep } from './plan.ts'

export interface JoinStatus {
  readonly join: SshJoin
}

export function statusOf(
  plan: JoinPlan,
  results: readonly ActionResult<JoinAction, StepResult>[],
  now: number,
): JoinStatus | undefined {
  const [ran] = results
  if (ran?.outcome.kind === 'Applied') return { join: afterStep(ran.action.join, ran.outcome.object, now) }
  return plan.join === undefined ? undefined : { join: plan.join }
}
