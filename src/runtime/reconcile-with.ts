// Wires observe → plan → act → status into one reconcile. The decision is `plan`, pure; what is here only carries it out and tells how it went.
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
export type ActionOutcome<R = unknown> =
  | WriteOutcome<R>
  /** Checked again right before the action: the reason for the decision no longer held, and nothing was done. */
  | { readonly kind: 'Outdated'; readonly reason: string }
  /** It takes longer than one pass; the next one continues it. */
  | { readonly kind: 'Unfinished'; readonly reason: string }
  /** An action before it did not succeed. */
  | { readonly kind: 'NotTried' }

/** What is waited for in several passes changes within seconds. */
const CONTINUE_MS = 2_000

export const outdated = (reason: string): ActionOutcome<never> => ({ kind: 'Outdated', reason })

export interface ActionResult<A extends Action, R = unknown> {
  readonly action: A
  readonly outcome: ActionOutcome<R>
}

/** How the actions of a plan are carried out. */
export interface ActionSteps<Seen, A extends Action, R = unknown> {
  /** Carries out one action and decides nothing. `outcomeOf` turns refusals into the values wanted here. */
  readonly act: (action: A, seen: Seen, context: ReconcileContext) => Promise<ActionOutcome<R>>
  /** Set where no action rests on another: all are tried, so many at once. Without it they go in order, and none after one that did not succeed. */
  readonly independentAtOnce?: number
  /** More fields for the log line of an action; undefined: no line, for what is repeated and brought nothing new. */
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
  /** Reads the world once; undefined when there is nothing (left) to decide about. */
  readonly observe: (key: string, context: ReconcileContext) => Promise<Seen | undefined>
  readonly plan: (seen: Seen, now: number) => P
  /** The status that follows; undefined for none. Pure, and computed also when actions failed. */
  readonly status?: (seen: Seen, plan: P, results: readonly ActionResult<A, R>[]) => S | undefined
  /** Writes the status, if it differs from what was seen. */
  readonly writeStatus?: (status: S, seen: Seen, context: ReconcileContext) => Promise<ActionOutcome | undefined>
  /** Receives every plan before it is carried out, for events and metrics. */
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
    const status = steps.status?.(seen, plan, results)
    const written = status === undefined ? undefined : await steps.writeStatus?.(status, seen, context)
    const outcomes = results.map((r) => r.outcome)
    return turnAfter(plan, written === undefined ? outcomes : [...outcomes, written])
  }
}

/** Waits while a cache is incomplete or silent: that is no failure of the key, and must not count as one. */
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

/** In order, and no further than the first that did not succeed: later actions may rest on earlier ones. Exported for a reconcile that does not fit `reconcileWith`. */
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
      return retry(new KubeNodeError(runtimeErrors.KN3001_outdated({ why: failed.reason }), { retry: 'now' }))
    case 'Unfinished':
      return doneOrAfter(CONTINUE_MS)
    case 'NotTried':
      return retry(new KubeNodeError(runtimeErrors.KN3001_aborted(), { retry: 'later' }))
    default:
      return assertNever(failed)
  }
}
