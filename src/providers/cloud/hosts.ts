// Hosts, orders and maintenance in a vendor's terms, with its own ids.
import type { CreateResult, Host, HostMaintenance, HostRequest, Offering } from '../port.ts'
import type { HostTags } from './tags.ts'

/** A host in the vendor's terms. */
export interface CloudHost extends HostTags {
  readonly id: string
  /** `Ended`: the vendor still lists it although it no longer exists. */
  readonly state: Host['state'] | 'Ended'
  readonly createdAt: string
  readonly offering: Offering
  readonly address?: string
  /** The vendor is reclaiming a spot host. */
  readonly isReclaimed?: boolean
}

/** The relevant fields of an instance that KubeNode did not create. */
export interface TaggedInstance {
  readonly id: string
  readonly address?: string
}

export interface HostOrder extends HostRequest {
  readonly userData: string
}

export type MakeResult =
  | { readonly kind: 'Made'; readonly id: string; readonly host?: CloudHost }
  /** The token was already used with other parameters: a host may have it. */
  | { readonly kind: 'TokenUsed'; readonly message: string }
  | Exclude<CreateResult, { readonly kind: 'Host' }>

/** `Vanished`: missing, after an unanswered attempt that may have ended it. */
export type RemoveResult = 'Ordered' | 'Missing' | 'Vanished'

export const missing = ({ isAfterLost }: { readonly isAfterLost?: true }): RemoveResult =>
  isAfterLost === true ? 'Vanished' : 'Missing'

/** With the vendor's id of the host. */
export type CloudMaintenance = Omit<HostMaintenance, 'providerID'> & { readonly id: string }
