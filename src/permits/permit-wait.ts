// What an object waits for while its permit is not granted. The blocking gate gives the reason, so that users need not open the permit. Pure.
import { REASONS, type Reason } from '#api/catalogue.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { NOT_DECIDED, verdictText } from '#api/protocol/permit-allows.ts'

export interface PermitWait {
  readonly predicate: Reason
  readonly seen: string
  readonly unblock: string
}

/** For a permit that was just requested, or that no gate has decided. */
export const UNDECIDED: PermitWait = {
  predicate: 'PermitRequested',
  seen: NOT_DECIDED,
  unblock: 'the Defender grants the permit; its role must be running',
}

/** For verdicts without a reason that this version knows. */
const OF_GATES: Readonly<Record<string, Reason>> = {
  Protect: 'Protected',
  Budget: 'BudgetExhausted',
  Rate: 'RateExceeded',
  Breaker: 'BreakerOpen',
  Approval: 'ApprovalMissing',
  Rule: 'PolicyRuleDenied',
  FleetStop: 'FleetStopped',
  FleetTurn: 'FleetBudget',
}

/** What unblocks each gate. For a gate of a later version, only its name is shown. */
const CURES: Readonly<Record<string, string>> = {
  Hold: 'the hold ends',
  Protect: 'the policy no longer protects the target',
  OwnPods: 'the other operation on pods of KubeNode ends',
  Window: 'the window opens',
  HealthFloor: 'the other machines are healthy, or the policy needs fewer',
  Budget: 'unavailable machines are healthy and running operations end, or the policy allows more',
  Rate: 'the window of the rate has passed',
  Breaker: 'its pause is over and the operations that it tries succeed',
  Rule: 'the rule of the policy is no longer true',
  Blame: 'the suspected version is replaced or retried',
  FleetStop: 'a commit replaces what failed, or a person lifts the stop on the hub: kubenode brake lift --reason WHY',
  FleetTurn: 'another cluster of the fleet has finished',
}

/** Targets that were already given up are not waited for. `target`: one of several targets. */
export function permitWait({ spec, status, metadata }: OperationPermit, target?: string): PermitWait {
  const { results = {} } = spec
  const isAsked = (uid: string) => results[uid] === undefined && (target === undefined || uid === target)
  const binding = status?.verdicts?.find((v) => v.verdict !== 'Granted' && isAsked(v.target))
  if (binding === undefined) return UNDECIDED
  const { gate, reason = '' } = binding
  const permit = `operationpermit/${metadata.name ?? ''}`
  return {
    predicate: Object.hasOwn(REASONS, reason) ? (reason as Reason) : (OF_GATES[gate] ?? 'PermitRequested'),
    seen: verdictText(binding),
    // The only gate that a person unblocks by answering the request itself.
    unblock:
      gate === 'Approval'
        ? `run kubenode approve ${permit} --reason WHY`
        : `${CURES[gate] ?? `gate ${gate} grants the permit`}; for details run kubenode why ${permit}`,
  }
}

/** For an ended permit, while its requester waits to ask again. */
export function endedWait(permit: OperationPermit, target?: string): PermitWait {
  const { phase } = permit.status ?? {}
  const again = 'the permit is requested again later'
  if (phase !== 'Denied')
    return {
      predicate: phase === 'Revoked' ? 'PermitRevoked' : 'PermitExpired',
      seen: `the permit is ${phase}`,
      unblock: again,
    }
  const { seen, unblock } = permitWait(permit, target)
  return { predicate: 'PermitDenied', seen, unblock: `${again}; ${unblock}` }
}
