// Hosts, orders and maintenance as a vendor has them, with its own ids.
import type { CreateResult, Host, HostMaintenance, HostRequest, Offering } from '../port.ts'
import type { HostTags } from './tags.ts'

/** A host as a vendor has it. */
export interface CloudHost extends HostTags {
  readonly id: string
  /** `Ended`: the vendor still shows what no longer exists. */
  readonly state: Host['state'] | 'Ended'
  readonly createdAt: string
  readonly offering: Offering
  readonly address?: string
  /** The vendor is taking a spot host back. */
  readonly isReclaimed?: boolean
}

/** As far as it is of interest of a host that others made. */
export interface TaggedInstance {
  readonly id: string
  readonly address?: string
}

export interface HostOrder extends HostRequest {
  readonly userData: string
}

export type MakeResult =
  | { readonly kind: 'Made'; readonly id: string; readonly host?: CloudHost }
  /** The token was used with other parameters before: there may be a host that has it. */
  | { readonly kind: 'TokenUsed'; readonly message: string }
  | Exclude<CreateResult, { readonly kind: 'Host' }>

/** `Vanished`: missing, after a try that was not answered and may have been what ended it. */
export type RemoveResult = 'Ordered' | 'Missing' | 'Vanished'

export const missing = ({ isAfterLost }: { readonly isAfterLost?: true }): RemoveResult =>
  isAfterLost === true ? 'Vanished' : 'Missing'

/** With the vendor's id of the host. */
export type CloudMaintenance = Omit<HostMaintenance, 'providerID'> & { readonly id: string }
