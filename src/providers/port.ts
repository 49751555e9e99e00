// The infrastructure provider: who makes, finds, switches and removes the hosts of Machines, and what it knows of their maintenance. All calls may be repeated;
// a lost reply does no harm. What a provider cannot do, it has no method for.
import type { JoinBundle } from '#api/join-bundle.ts'
import type { OutProps, Out } from '#api/build.ts'
import type { MAINTENANCE_ANSWERS } from '#api/kinds/maintenance-event.ts'
import type * as model from './model.ts'

/** One way to get a host. */
export type Offering = Out<typeof model.offering>

export interface HostRequest extends OutProps<typeof model.wantedHost> {
  readonly join: JoinBundle
  /** A person lets a host that had joined join again, with this token: hand it over although the agent used up the one before. */
  readonly joinsAgain?: true
}

export type Host = Out<typeof model.host>

/** Something that happened to a host without our asking. */
export type HostEvent = Out<typeof model.hostEvent>

export type CreateResult =
  | { readonly kind: 'Host'; readonly host: Host }
  /** Nothing was made, and nothing will be until the request changes: that takes a commit. */
  | { readonly kind: 'Refused'; readonly reason: string }
  /** Nothing was made: there is none of this offering now. Another may be had at once, with another token. Without zone and type the whole offering is meant. */
  | {
      readonly kind: 'Exhausted'
      readonly zone?: string
      readonly type?: string
      readonly reason: string
      readonly retryAfterMs: number
    }
  /** Nothing was made; the same token again after this time. */
  | { readonly kind: 'Throttled'; readonly retryAfterMs: number }
  /** A host may have been made or not: the same token again, never a new one. */
  | { readonly kind: 'Unknown'; readonly message: string }

export type DeleteResult = (typeof model.DELETED)[number]
export type Ordered = (typeof model.ORDERED)[number]

/** All hosts at one time. */
export interface HostList {
  readonly hosts: readonly Host[]
  /** When the provider began to read it; a host made later may be missing. */
  readonly asOf: string
}

/** A host of the account, also one that KubeNode did not create. */
export interface TaggedHost {
  readonly providerID: string
  readonly address?: string
}

/** What will happen, happens or happened to a host. */
export type HostMaintenance = Out<typeof model.maintenanceEvent>
export type MaintenanceKind = HostMaintenance['kind']
export type MaintenanceState = HostMaintenance['state']
/** `Accept`: proceed as announced. `Start`: do it now. `Postpone`: not before the given time. */
export type MaintenanceAnswer =
  | { readonly kind: Exclude<(typeof MAINTENANCE_ANSWERS)[number], 'Postpone'> }
  | { readonly kind: 'Postpone'; readonly until: string }

export interface MaintenanceList {
  readonly events: readonly HostMaintenance[]
  readonly asOf: string
}

export type FaultCategory = Out<typeof model.faultCategory>
export type Capabilities = Out<typeof model.capabilities>

export interface Provider {
  readonly name: string
  readonly capabilities: Capabilities
  create(request: HostRequest, signal?: AbortSignal): Promise<CreateResult>
  /** Undefined only when the provider is sure that the host does not exist; otherwise it throws. */
  get(providerID: string, signal?: AbortSignal): Promise<Host | undefined>
  /** All hosts that this provider made for the cluster. Complete, or it throws: a host that is missing in it is missing. */
  list(signal?: AbortSignal): Promise<HostList>
  /** Hosts with this tag, also those that KubeNode did not create; nothing is done with them. Complete, or it throws. */
  tagged?(name: string, value: string, signal?: AbortSignal): Promise<readonly TaggedHost[]>
  /** Ends everything on the host and gives it back. */
  delete(providerID: string, signal?: AbortSignal): Promise<DeleteResult>
  /** Answers once the restart was ordered; a new bootID tells that it happened. `hard` does not wait for the system on the host. */
  reboot(providerID: string, how?: { readonly hard: boolean }, signal?: AbortSignal): Promise<Ordered>
  /** Calls `heard` for what happens from now on; ends with the signal. A provider without events returns at once. */
  events(onEvent: (event: HostEvent) => void, signal: AbortSignal): Promise<void>
  /** Answers once it was ordered; the state of the host tells that it happened. */
  power?(providerID: string, to: 'On' | 'Off', how?: { readonly hard: boolean }, signal?: AbortSignal): Promise<Ordered>
  /** Everything announced or under way, and what ended in the last days. Complete, or it throws. */
  maintenance?(signal?: AbortSignal): Promise<MaintenanceList>
  /** `Refused` when the event no longer takes this answer. */
  respond?(eventId: string, answer: MaintenanceAnswer, signal?: AbortSignal): Promise<Ordered | 'Refused'>
  /** Tells the vendor what our detectors found on its host. */
  reportFault?(providerID: string, category: FaultCategory, text: string, signal?: AbortSignal): Promise<Ordered>
  /** The provider's background work, such as keeping agents alive; ends with the signal. The program that creates the provider calls it, once. */
  run?(signal: AbortSignal): Promise<void>
}

/** Of a provider in another program that never answered: while nothing is known of it nothing is absent. */
export const NOTHING_KNOWN: Capabilities = Object.freeze({
  isHostKept: false,
  visibleWithinMs: 3_600_000,
  markets: [],
})

/** Of a provider whose hosts are made here: what it wrote it reads, and they have no market. */
export const LOCAL_CAPABILITIES: Capabilities = { isHostKept: false, visibleWithinMs: 0, markets: ['OnDemand'] }
