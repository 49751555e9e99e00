// The infrastructure provider: who makes, finds, restarts and removes the hosts of Machines. All calls may be repeated; a lost reply does no harm.
import type { JoinBundle } from '#api/join-bundle.ts'

export interface HostRequest {
  /** The same token always means the same host: a second create with it answers with the first one's. */
  readonly clientToken: string
  readonly machine: string
  readonly params: Readonly<Record<string, string>>
  readonly join: JoinBundle
}

export type HostState = 'Creating' | 'Running' | 'Stopped' | 'Deleting'

export interface Host {
  /** `process://<name>`: unique over all providers, and what `Machine.spec.providerID` holds. */
  readonly providerID: string
  readonly clientToken: string
  readonly machine: string
  readonly state: HostState
  readonly address?: string
  /** Changes with every boot. */
  readonly bootID?: string
  readonly createdAt: string
}

/** Something that happened to a host without our asking. */
export interface HostEvent {
  readonly providerID: string
  readonly machine: string
  readonly kind: 'Started' | 'Stopped' | 'Rebooted' | 'Deleted' | 'Maintenance'
  readonly message: string
}

export type CreateResult =
  | { readonly kind: 'Host'; readonly host: Host }
  /** Nothing was made: the request cannot be fulfilled as it is. */
  | { readonly kind: 'Refused'; readonly reason: string }
  | { readonly kind: 'Throttled'; readonly retryAfterMs: number }

export type DeleteResult = 'Deleted' | 'Deleting' | 'Gone'

export interface Provider {
  readonly name: string
  /** Hosts are there before their machines and stay when those go: nothing is made, and nothing that runs there is ended. */
  readonly isHostKept?: boolean
  create(request: HostRequest, signal?: AbortSignal): Promise<CreateResult>
  /** Undefined only when the provider is sure that the host does not exist; otherwise it throws. */
  get(providerID: string, signal?: AbortSignal): Promise<Host | undefined>
  /** All hosts that this provider made for the cluster: for orphans. */
  list(signal?: AbortSignal): Promise<readonly Host[]>
  /** Ends everything on the host and gives it back. */
  delete(providerID: string, signal?: AbortSignal): Promise<DeleteResult>
  /** Answers once the restart was ordered; a new bootID tells that it happened. */
  reboot(providerID: string, signal?: AbortSignal): Promise<'Ordered' | 'Gone'>
  /** Calls `heard` for what happens from now on; ends with the signal. A provider without events returns at once. */
  events(heard: (event: HostEvent) => void, signal: AbortSignal): Promise<void>
  /** The provider's background work, such as keeping agents alive; ends with the signal. The program that creates the provider calls it, once. */
  run?(signal: AbortSignal): Promise<void>
}
