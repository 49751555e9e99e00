// The infrastructure provider: creates, finds, switches and deletes the hosts of Machines, and knows about their maintenance. All calls may be repeated; a lost
// reply does no harm. A provider has no method for what it cannot do.
import type { JoinBundle } from '#api/join-bundle.ts'
import type { OutProps, Out } from '#api/build.ts'
import type { MAINTENANCE_ANSWERS } from '#api/kinds/maintenance-event.ts'
import type * as model from './model.ts'

/** One way to get a host. */
export type Offering = Out<typeof model.offering>

export interface HostRequest extends OutProps<typeof model.wantedHost> {
  readonly join: JoinBundle
  /** A user lets a host that already joined join again with this token: deliver it even though the agent used up the previous one. */
  readonly joinsAgain?: true
}

export type Host = Out<typeof model.host>

/** Something that happened to a host without a request from KubeNode. */
export type HostEvent = Out<typeof model.hostEvent>

export type CreateResult =
  | { readonly kind: 'Host'; readonly host: Host }
  /** Nothing was created, and nothing will be until the request changes: that takes a commit. */
  | { readonly kind: 'Refused'; readonly reason: string }
  /**
   * Nothing was created: this offering is out of stock. Another may be available at once, with another token. Without zone and type it applies to the whole
   * offering.
   */
  | {
      readonly kind: 'Exhausted'
      readonly zone?: string
      readonly type?: string
      readonly reason: string
      readonly retryAfterMs: number
    }
  /** Nothing was created; retry with the same token after this time. */
  | { readonly kind: 'Throttled'; readonly retryAfterMs: number }
  /** A host may have been created: retry with the same token, never a new one. */
  | { readonly kind: 'Unknown'; readonly message: string }

export type DeleteResult = (typeof model.DELETED)[number]
export type Ordered = (typeof model.ORDERED)[number]

/** All hosts at one time. */
export interface HostList {
  readonly hosts: readonly Host[]
  /** When the provider started to read it; a host created later may be missing. */
  readonly asOf: string
}

/** A host in the account, even if KubeNode did not create it. */
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
  /** Undefined only if the provider is sure that the host does not exist; otherwise it throws. */
  get(providerID: string, signal?: AbortSignal): Promise<Host | undefined>
  /** All hosts that this provider created for the cluster. Complete, or it throws: a host missing from it does not exist. */
  list(signal?: AbortSignal): Promise<HostList>
  /** Hosts with this tag, including those that KubeNode did not create; nothing is done to them. Complete, or it throws. */
  tagged?(name: string, value: string, signal?: AbortSignal): Promise<readonly TaggedHost[]>
  /** Stops everything on the host and releases it. */
  delete(providerID: string, signal?: AbortSignal): Promise<DeleteResult>
  /** Resolves once the restart is ordered; a new bootID shows that it happened. `hard` does not wait for the host's operating system. */
  reboot(providerID: string, how?: { readonly hard: boolean }, signal?: AbortSignal): Promise<Ordered>
  /** Calls `onEvent` for events from now on until the signal aborts. A provider without events returns at once. */
  events(onEvent: (event: HostEvent) => void, signal: AbortSignal): Promise<void>
  /** Resolves once it is ordered; the host's state shows that it happened. */
  power?(providerID: string, to: 'On' | 'Off', how?: { readonly hard: boolean }, signal?: AbortSignal): Promise<Ordered>
  /** Everything announced or in progress, and what ended in the last days. Complete, or it throws. */
  maintenance?(signal?: AbortSignal): Promise<MaintenanceList>
  /** `Refused` if the event no longer accepts this answer. */
  respond?(eventId: string, answer: MaintenanceAnswer, signal?: AbortSignal): Promise<Ordered | 'Refused'>
  /** Reports a detector's finding on a host to the vendor. */
  reportFault?(providerID: string, category: FaultCategory, text: string, signal?: AbortSignal): Promise<Ordered>
  /** The provider's background work, such as keeping agents alive, until the signal aborts. The program that creates the provider calls it once. */
  run?(signal: AbortSignal): Promise<void>
}

/** For a provider in another program that never answered: while nothing is known about it, nothing counts as absent. */
export const NOTHING_KNOWN: Capabilities = Object.freeze({
  isHostKept: false,
  visibleWithinMs: 3_600_000,
  markets: [],
})

/** For a provider that creates hosts locally: it reads its own writes, and its hosts have no market. */
export const LOCAL_CAPABILITIES: Capabilities = { isHostKept: false, visibleWithinMs: 0, markets: ['OnDemand'] }
