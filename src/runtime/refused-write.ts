// What a reconcile could not write and a retry alone has not changed. The status of its object names it: a log alone explains no standstill.
import type { Reason } from '#api/catalogue.ts'
import type { Condition } from '#api/schema/object.ts'
import { setConditions } from '#kube/conditions.ts'
import { answerOf } from '#kube/errors.ts'
import { defined } from '#lib/defined.ts'
import { assertNever } from '#lib/errors.ts'
import type { Action, ActionOutcome, ActionResult } from './reconcile-with.ts'
import { type Wait, type WaitingSince, waitingSince } from './waiting.ts'

/** Tries in a row, with growing delays: about 40 s. A server that restarts, or a lost race, is over by then. */
export const LASTING_TRIES = 13

/** Undefined while the next try may well succeed. `failures` are those of the key before this try. */
export function refusedText(outcome: ActionOutcome, failures: number): string | undefined {
  switch (outcome.kind) {
    case 'Applied':
    case 'Unfinished':
    case 'NotTried':
      return undefined
    case 'Denied': {
      const isForNow = outcome.retryAfterMs !== undefined || outcome.error.status === 429
      return isForNow && failures < LASTING_TRIES ? undefined : outcome.error.serverMessage
    }
    case 'Outdated':
      return failures < LASTING_TRIES ? undefined : outcome.reason
    case 'Conflict':
    case 'Stale':
    case 'Exists':
    case 'Unknown':
      return failures < LASTING_TRIES ? undefined : answerOf(outcome.error)
    default:
      return assertNever(outcome)
  }
}

/** Another program's webhook that does not answer fails a write like a rule that refuses it. */
const UNBLOCK =
  'a person corrects RBAC, admission policies, webhooks or quotas, so that the API server accepts the write: kubenode check'

/** `what`: what could not be done, with the server's answer. */
const refusedWait = (what: string) =>
  ({ predicate: 'ActionRefused', seen: what, unblock: UNBLOCK }) as const satisfies Wait<Reason>

/** Only what lasts: what a machine does next is often overtaken, by its agent or by its provider. */
export function refusedWaitIn(results: readonly ActionResult<Action>[], failures: number) {
  if (failures < LASTING_TRIES) return undefined
  for (const { action, outcome } of results) {
    const text = refusedText(outcome, failures)
    if (text !== undefined) return refusedWait(`${action.kind}: ${text}`)
  }
  return undefined
}

interface Refusable {
  readonly observedGeneration?: number
  readonly waitingFor?: Partial<WaitingSince> & Pick<WaitingSince, 'predicate'>
  readonly conditions?: readonly Condition[]
}

/** The status before, and why it does not continue. All else stays: others rely on it, and the planned actions did not happen. */
export function refusedStatus<S extends Refusable>(status: S, what: string, now: number): S {
  const wait = refusedWait(what)
  const waitingFor = waitingSince(status.waitingFor, wait, now)
  const cause = {
    reason: wait.predicate,
    message: waitingFor.seen,
    ...defined({ observedGeneration: status.observedGeneration }),
  }
  const wanted = [
    { type: 'Ready', status: 'False' as const, ...cause },
    { type: 'Reconciling', status: 'True' as const, ...cause },
  ]
  return { ...status, waitingFor, conditions: setConditions(status.conditions, wanted, now) }
}
