// Wires observe → plan → act → status into one reconcile. The decision is `plan`, pure; what is here only carries it out and tells how it went.
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError, assertNever } from '#lib/errors.ts'
import type { WriteOutcome } from '#kube/outcome.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Reconcile, ReconcileContext } from './controller.ts'
import { type Outcome, doneOrAfter, retry } from './outcome.ts'
import { runtimeErrors } from './runtime-errors.ts'

/** Every action says why it is taken. `kind` closes the union. */
export interface Action {
  readonly kind: string
  readonly reason: string
}

/** Something worth an event or a line of `why`; nothing is done because of it. */
export interface Notice {
  readonly reason: string
  readonly message: string
  readonly severity?: 'Normal' | 'Warning'
  /** The object of the event; without it, the object of the key. */
  readonly about?: KubeObject
}

export interface Plan<A extends Action> {
  readonly actions: readonly A[]
  readonly notices: readonly Notice[]
  /** Milliseconds until the next reconcile is due without a change; left out when only a change matters. */
  readonly requeueAfter?: number
}

/** How one action went: as a write does, or it was given up before. */
export type ActionOutcome =
  | WriteOutcome<unknown>
  /** Checked again right before the action: the reason for the decision no longer held, and nothing was done. */
  | { readonly kind: 'Outdated'; readonly reason: string }
  /** It takes longer than one pass; the next one continues it. */
  | { readonly kind: 'Unfinished'; readonly reason: string }
  /** An action before it did not succeed. */
  | { readonly kind: 'NotTried' }

/** What is waited for in several passes changes within seconds. */
const CONTINUE_MS = 2_000

export const outdated = (reason: string): ActionOutcome => ({ kind: 'Outdated', reason })

export interface ActionResult<A extends Action> {
  readonly action: A
  readonly outcome: ActionOutcome
}

export interface ReconcileSteps<Seen, A extends Action, S> {
  readonly clock: Pick<Clock, 'now'>
  /** Reads the world once; undefined when there is nothing (left) to decide about. */
  readonly observe: (key: string, context: ReconcileContext) => Promise<Seen | undefined>
  readonly plan: (seen: Seen, now: number) => Plan<A>
  /** Carries out one action and decides nothing. `outcomeOf` turns refusals into the values wanted here. */
  readonly act: (action: A, seen: Seen, context: ReconcileContext) => Promise<ActionOutcome>
  /** The status that follows; undefined for none. Pure, and computed also when actions failed. */
  readonly status?: (seen: Seen, plan: Plan<A>, results: readonly ActionResult<A>[]) => S | undefined
  /** Writes the status, if it differs from what was seen. */
  readonly writeStatus?: (status: S, seen: Seen, context: ReconcileContext) => Promise<ActionOutcome | undefined>
  /** Receives every plan before it is carried out, for events and metrics. */
  readonly onPlan?: (plan: Plan<A>, key: string, context: ReconcileContext) => void
}

export function reconcileWith<Seen, A extends Action, S>(steps: ReconcileSteps<Seen, A, S>): Reconcile {
  return async (key, context) => {
    const seen = await steps.observe(key, context)
    if (seen === undefined) return doneOrAfter(undefined)
    const plan = steps.plan(seen, steps.clock.now())
    steps.onPlan?.(plan, key, context)
    const results = await carryOut(steps, plan, seen, context)
    const status = steps.status?.(seen, plan, results)
    const written = status === undefined ? undefined : await steps.writeStatus?.(status, seen, context)
    const outcomes = results.map((r) => r.outcome)
    return turnAfter(plan, written === undefined ? outcomes : [...outcomes, written])
  }
}

/** In order, and no further than the first that did not succeed: later actions may rest on earlier ones. */
async function carryOut<Seen, A extends Action, S>(
  steps: ReconcileSteps<Seen, A, S>,
  plan: Plan<A>,
  seen: Seen,
  context: ReconcileContext,
): Promise<readonly ActionResult<A>[]> {
  const results: ActionResult<A>[] = []
  let isHalted = false
  for (const action of plan.actions) {
    if (isHalted || context.signal.aborted) {
      results.push({ action, outcome: { kind: 'NotTried' } })
      continue
    }
    const outcome = await steps.act(action, seen, context)
    context.log.info('acted', { action: action.kind, reason: action.reason, outcome: outcome.kind })
    isHalted = outcome.kind !== 'Applied'
    results.push({ action, outcome })
  }
  return results
}

/** The first thing that went wrong decides the next turn. */
function turnAfter<A extends Action>(plan: Plan<A>, outcomes: readonly ActionOutcome[]): Outcome {
  const failed = outcomes.find((o) => o.kind !== 'Applied')
  if (failed === undefined) return doneOrAfter(plan.requeueAfter)
  switch (failed.kind) {
    case 'Conflict':
    case 'Stale':
    case 'Exists':
    case 'Denied':
    case 'Unknown':
      return retry(failed.error)
    case 'Outdated':
      return retry(new KubeNodeError(runtimeErrors.KN3004({ why: failed.reason }), { retry: 'now' }))
    case 'Unfinished':
      return doneOrAfter(CONTINUE_MS)
    case 'NotTried':
      return retry(new KubeNodeError(runtimeErrors.KN3003(), { retry: 'later' }))
    default:
      return assertNever(failed)
  }
}
