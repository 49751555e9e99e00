// What the central steps share: their tools, the host of a job, and the end of a pass.
import { FIELD_MANAGERS } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import type { NodeTools } from '#nodes/change-node.ts'
import type { Provider } from '#providers/port.ts'
import type { Swap } from '#runtime/compare-and-swap.ts'
import type { OutboundPlaces } from '#runtime/outbound/places.ts'
import type { SshSessions } from '#ssh/ssh-sessions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import type { StepResult } from '../actions.ts'
import type { Seen } from '../seen.ts'
import type { FreeDevices } from './free-devices.ts'
import type { OffSightings } from './off-sightings.ts'

export interface JobTools {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly providers: Readonly<Record<string, Provider>>
  readonly off: OffSightings
  readonly free: FreeDevices
  readonly outbound?: OutboundPlaces
  /** Absent: these controllers use no SSH. */
  readonly sessions?: Pick<SshSessions, 'inTurn'>
}

export const nodeTools = ({ client, clock, random }: JobTools, signal: AbortSignal): NodeTools => ({
  client,
  clock,
  random,
  fieldManager: FIELD_MANAGERS.remedyJob,
  signal,
})

export const applied = (object: StepResult): ActionOutcome => ({ kind: 'Applied', object })
export const failed = (output: string): ActionOutcome => applied({ outcome: 'Failed', output })

export function settled(swap: Swap<unknown>, output = 'done'): ActionOutcome {
  if (swap.kind === 'Swapped') return applied({ outcome: 'Succeeded', output })
  return swap.kind === 'Refused' ? failed(swap.reason) : outdated(swap.reason)
}

interface Host {
  readonly provider: Provider
  readonly providerID: string
}

export function hostOf({ providers }: JobTools, { machine }: Seen): Host | string {
  const name = machine?.spec.provider?.name ?? ''
  const provider = providers[name]
  const providerID = machine?.spec.providerID
  if (provider === undefined || providerID === undefined)
    return `provider ${JSON.stringify(name)} is not configured in these controllers`
  return { provider, providerID }
}
