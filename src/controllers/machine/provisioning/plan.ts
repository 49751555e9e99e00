// Decides whether to ask the provider for a host now, in which attempt, or what this waits for. Pure.
import type { Provisioning } from '#api/kinds/machine.ts'
import { timeOfDay } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import type { Offering } from '#providers/port.ts'
import type { MachinePlan, Waiting } from '../actions.ts'
import {
  attemptAt,
  attemptThatMade,
  offeringText,
  offeringsOf,
  requestOf,
  troubleIn,
  untilReplaced,
  untilRetry,
} from './attempts.ts'
import type { Seen } from '../seen.ts'
import { providerUnblock } from '../reporting/waits.ts'
import { defined } from '#lib/defined.ts'

export type ProvisionStep =
  | { readonly kind: 'Ask'; readonly attempt: Provisioning }
  | { readonly kind: 'Wait'; readonly waiting: Waiting; readonly afterMs: number }

/** The shortest requeue: timestamps are in whole seconds, so a wait may seem over slightly early. */
const SHORTEST_WAIT_MS = 500

export function provisionStep(seen: Seen, now: number): ProvisionStep {
  const { machine, host } = seen
  const made = host.kind === 'Host' ? attemptThatMade(host.host, now) : undefined
  const before = machine.status?.provisioning ?? made
  if (before === undefined) return nextAttempt(seen, 1, now)
  if (isOfLostHost(seen, before)) {
    const lostMs = untilReplaced(before, now)
    if (lostMs > 0) return { kind: 'Wait', waiting: lostWait(before, now + lostMs, now), afterMs: lostMs }
    return nextAttempt(seen, before.attempt + 1, now, { lost: (before.lost ?? 0) + 1 })
  }
  if (before.answer === 'Exhausted') return nextAttempt(seen, before.attempt + 1, now, before)
  const isChanged = before.answer === 'Refused' && before.request !== requestOf(machine)
  const leftMs = isChanged ? 0 : untilRetry(before, now)
  if (leftMs > 0) return { kind: 'Wait', waiting: retryWait(seen, before, now + leftMs, now), afterMs: leftMs }
  if (before.answer === 'Refused')
    return nextAttempt(seen, before.attempt + 1, now, isChanged ? { lost: before.lost } : before)
  // Asked before, without a final answer. The same token gives the same host.
  return { kind: 'Ask', attempt: before }
}

/** This attempt's host was created and has since been deleted. A kept host was never created; its provider lost the record. */
const isOfLostHost = ({ machine, host, isHostKept }: Seen, { answer, providerID }: Provisioning): boolean =>
  !isHostKept &&
  host.kind === 'Gone' &&
  answer === 'Host' &&
  providerID !== undefined &&
  providerID === machine.spec.providerID

const lostWait = ({ providerID = '' }: Provisioning, at: number, now: number): Waiting => ({
  predicate: 'HostMade',
  seen: `the provider created ${providerID} and does not show it; earlier hosts of this machine may exist too`,
  unblock: `the provider shows the host; next request at ${timeOfDay(at, now)}`,
  because: 'ProviderError',
})

/** What the next attempt takes over from the previous one. */
interface Carried {
  readonly failures?: number | undefined
  readonly lost?: number | undefined
}

/** The first offering that is not known to be exhausted. */
function nextAttempt(seen: Seen, attempt: number, now: number, after: Carried = {}): ProvisionStep {
  const { machine, exhausted = [] } = seen
  const all = offeringsOf(machine)
  const outs: { readonly offering: Offering | undefined; readonly untilMs: number; readonly reason: string }[] = []
  for (const [i, offering] of all.entries()) {
    const out = exhausted[i]
    if (out === undefined) {
      const next = attemptAt(machine, attempt, offering, now)
      const { failures, lost } = after
      const carried = defined({ failures, lost })
      return { kind: 'Ask', attempt: { ...next, ...carried } }
    }
    outs.push({ offering, ...out })
  }
  const first = outs.reduce((a, b) => (b.untilMs < a.untilMs ? b : a))
  const at = timeOfDay(now + first.untilMs, now)
  const count = all.length === 1 ? 'the offering is' : `all ${counted(all.length, 'offering is', 'offerings are')}`
  const waiting = {
    predicate: 'OfferingAvailable',
    seen: `${count} exhausted; ${offeringText(first.offering)}: ${first.reason}`,
    unblock: `the provider has hosts again; next request at ${at}`,
    because: 'OfferingsExhausted',
  } as const
  return { kind: 'Wait', waiting, afterMs: Math.max(SHORTEST_WAIT_MS, first.untilMs) }
}

const UNBLOCK: Readonly<Record<NonNullable<Provisioning['answer']>, string>> = {
  Host: '',
  Exhausted: '',
  Refused: '',
  Throttled: 'the provider accepts calls again',
  Unknown: 'the provider answers',
}

function retryWait({ machine }: Seen, attempt: Provisioning, at: number, now: number): Waiting {
  return {
    predicate: 'HostMade',
    seen: troubleIn(attempt) ?? 'the provider has not answered yet',
    unblock:
      attempt.answer === 'Refused'
        ? providerUnblock(machine, ` (next request at ${timeOfDay(at, now)})`)
        : `${UNBLOCK[attempt.answer ?? 'Unknown']}; next request at ${timeOfDay(at, now)}`,
    because: attempt.answer === 'Throttled' ? 'ProviderThrottled' : 'ProviderError',
  }
}

/** A repeated request may change nothing, so no event triggers the reconcile that reports what the machine waits for. */
const NEXT_REQUEUE_MS = 250

export function provisionPlan(seen: Seen, reason: string, now: number): MachinePlan {
  const step = provisionStep(seen, now)
  if (step.kind === 'Wait') return { actions: [], notices: [], waiting: step.waiting, requeueAfter: step.afterMs }
  const action = { kind: 'Provision', attempt: step.attempt, reason } as const
  // One notice per attempt: a repeated call is no news.
  const isNew = step.attempt.token !== seen.machine.status?.provisioning?.token
  const notices = isNew ? [{ reason: 'Provisioning', message: reason }] : []
  return { actions: [action], notices, requeueAfter: NEXT_REQUEUE_MS }
}
