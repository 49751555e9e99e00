// The provisioning part of a machine's status: the recorded attempt, and why there is no host yet. Pure.
import type { Reason } from '#api/catalogue.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import type { MachineAction } from '../actions.ts'
import { isInDoubt, settled, troubleIn } from './attempts.ts'
import { type Seen, hadJoined, hasJoined } from '../seen.ts'

type MachineStatus = NonNullable<Machine['status']>

export interface Refusal {
  readonly reason: Reason
  readonly message: string
  /** Needs a change here or at the provider. */
  readonly isFinal: boolean
}

/** The reply of the call may have been lost after the host was recorded. */
export function provisioningOf({ machine, host }: Seen): Pick<MachineStatus, 'provisioning'> {
  const attempt = machine.status?.provisioning
  if (attempt === undefined) return {}
  const isMade = isInDoubt(machine) && host.kind === 'Host' && host.host.providerID === machine.spec.providerID
  return { provisioning: isMade ? settled(attempt, host.host.providerID) : attempt }
}

/** Why there is no host yet: what stopped the request just now, or the provider's answer. */
export function refusalOf(seen: Seen, results: readonly ActionResult<MachineAction>[]): Refusal | undefined {
  const { machine, host } = seen
  const provision = results.find((r) => r.action.kind === 'Provision')
  if (provision?.outcome.kind === 'Outdated')
    return { reason: 'ProviderError', message: provision.outcome.reason, isFinal: true }
  if (hasJoined(seen) || hadJoined(seen) || host.kind === 'Host') return undefined
  const message = troubleIn(machine.status?.provisioning)
  if (message === undefined) return undefined
  const { answer } = machine.status?.provisioning ?? {}
  const reason =
    answer === 'Exhausted' ? 'OfferingsExhausted' : answer === 'Throttled' ? 'ProviderThrottled' : 'ProviderError'
  return { reason, message, isFinal: answer === 'Refused' }
}
