// Wires observe → plan → act → status into one reconcile. `plan` decides and is pure; this file only carries the plan out and reports the result.
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError, assertNever } from '#lib/errors.ts'
import type { LogFields } from '#lib/log.ts'
import { inParallel } from '#lib/pool.ts'
import type { WriteOutcome } from '#kube/outcome.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Reconcile, ReconcileContext } from './controller.ts'
import { blindFor } from './informers.ts'
import { type Outcome, doneOrAfter, requeueAfter, retry } from './outcome.ts'
import { runtimeErrors } from './runtime-errors.ts'

/** Every action carries its reason. `kind` closes the union. */
export interface Action {
  readonly kind: string
  readonly reason: string
}

/** Worth an event or a line of `why`, without any action. */
export interface Notice {
  readonly reason: string
  readonly message: string
  readonly severity?: 'Normal' | 'Warning'
  /** The event's object; by default the key's object. */
  readonly about?: KubeObject
}

export interface Plan<A extends Action> {
  readonly actions: readonly A[]
  readonly notices: readonly Notice[]
  /** Milliseconds until the next reconcile without a change; left out if only a change matters. */
  readonly requeueAfter?: number
}

/** How an action went: the outcome of its write, or why it was not done. */
export type ActionOutcome<R = unknown> =
  | WriteOutcome<R>
  /** A check right before the action showed that the reason no longer holds; nothing was done. */
  | { readonly kind: 'Outdated'; readonly reason: string }
  /** Takes longer than one pass; the next one continues it. */
  | { readonly kind: 'Unfinished'; readonly reason: string }
  /** An earlier action did not succeed. */
  | { readonly kind: 'NotTried' }

/** What takes several passes changes within seconds. */
const CONTINUE_MS = 2_000

export const outdated = (reason: string): ActionOutcome<never> => ({ kind: 'Outdated', reason })

export interface ActionResult<A extends Action, R = unknown> {
  readonly action: A
  readonly outcome: ActionOutcome<R>
}

/** How the actions of a plan are carried out. */
export interface ActionSteps<Seen, A extends Action, R = unknown> {
  /** Carries out one action and decides nothing. Use `outcomeOf` to turn refusals into values. */
  readonly act: (action: A, seen: Seen, context: ReconcileContext) => Promise<ActionOutcome<R>>
  /**
   * For actions that do not depend on each other: all are tried, this many at once. Without it they run in order and stop after the first that does not
   * succeed.
   */
  readonly independentAtOnce?: number
  /** Extra fields for an action's log line. Undefined: no line, for repeated actions without news. */
  readonly logged?: (action: A, outcome: ActionOutcome<R>) => LogFields | undefined
}

export interface ReconcileSteps<
  Seen,
  A extends Action,
  S,
  P extends Plan<A> = Plan<A>,
  R = unknown,
> extends ActionSteps<Seen, A, R> {
  readonly clock: Pick<Clock, 'now'>
  /** Reads the world once; undefined if there is nothing (left) to decide about. */
  readonly observe: (key: string, context: ReconcileContext) => Promise<Seen | undefined>
  readonly plan: (seen: Seen, now: number) => P
  /** The resulting status; undefined for none. Pure, and computed even if actions failed. */
  readonly status?: (
    seen: Seen,
    plan: P,
    results: readonly ActionResult<A, R>[],
    context: ReconcileContext,
  ) => S | undefined
  /** Writes the status if it differs from the observed one. */
  readonly writeStatus?: (status: S, seen: Seen, context: ReconcileContext) => Promise<ActionOutcome | undefined>
  /** Called with every plan before it is carried out, for events and metrics. */
  readonly onPlan?: (plan: P, key: string, context: ReconcileContext) => void
}

export function reconcileWith<Seen, A extends Action, S, P extends Plan<A> = Plan<A>, R = unknown>(
  steps: ReconcileSteps<Seen, A, S, P, R>,
): Reconcile {
  return async (key, context) => {
    const seen = await steps.observe(key, context)
    if (seen === undefined) return doneOrAfter(undefined)
    const plan = steps.plan(seen, steps.clock.now())
    steps.onPlan?.(plan, key, context)
    const results = await carryOut(steps, plan.actions, seen, context)
    const status = steps.status?.(seen, plan, results, context)
    const written = status === undefined ? undefined : await steps.writeStatus?.(status, seen, context)
    const outcomes = results.map((r) => r.outcome)
    return turnAfter(plan, written === undefined ? outcomes : [...outcomes, written])
  }
}

/** Waits while a cache is incomplete or stale: that is not the key's failure and must not count as one. */
export const waitingWhileBlind =
  (reconcile: Reconcile): Reconcile =>
  async (key, context) => {
    try {
      return await reconcile(key, context)
    } catch (error) {
      const ms = blindFor(error)
      if (ms === undefined) throw error
      return requeueAfter(ms)
    }
  }

/**
 * Runs actions in order up to the first that does not succeed, since later ones may depend on earlier ones. Exported for reconciles that do not fit
 * `reconcileWith`.
 */
export async function carryOut<Seen, A extends Action, R>(
  { act, logged, independentAtOnce }: ActionSteps<Seen, A, R>,
  actions: readonly A[],
  seen: Seen,
  context: ReconcileContext,
): Promise<readonly ActionResult<A, R>[]> {
  const results: ActionResult<A, R>[] = actions.map((action) => ({ action, outcome: { kind: 'NotTried' } }))
  let isHalted = false
  await inParallel(actions.entries(), independentAtOnce ?? 1, async ([n, action]) => {
    if (isHalted || context.signal.aborted) return
    const outcome = await act(action, seen, context)
    const more = logged === undefined ? {} : logged(action, outcome)
    if (more !== undefined)
      context.log.info('acted', { action: action.kind, reason: action.reason, outcome: outcome.kind, ...more })
    results[n] = { action, outcome }
    isHalted = independentAtOnce === undefined && outcome.kind !== 'Applied'
  })
  return results
}

/** The first failure decides the next turn. */
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
      return retry(new KubeNodeError(runtimeErrors.KN3001_outdated({ why: failed.reason }), { retry: 'now' }))
    case 'Unfinished':
      return doneOrAfter(CONTINUE_MS)
    case 'NotTried':
      return retry(new KubeNodeError(runtimeErrors.KN3001_aborted(), { retry: 'later' }))
    default:
      return assertNever(failed)
  }
}
