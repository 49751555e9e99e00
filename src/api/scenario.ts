// A scenario of `kubenode simulate`: what happens to a fleet while a commit rolls out, and what must hold. Data only; a fleet keeps it in `*.scenario.ts`.

/** A duration such as 90s, 15m or 1h30m. */
type Duration = string

/** Which machines; all of the cluster if nothing restricts them. */
export interface Pick {
  readonly zone?: string
  readonly rack?: string
  readonly pool?: string
  readonly names?: readonly string[]
  /** How many of them, different ones for each seed: a number, or a share such as '5%'. All if left out. */
  readonly count?: number | string
}

export interface Fault {
  /** After the start. */
  readonly at?: Duration
  readonly pick?: Pick
  /** The faults begin one after the other during this time, as in a storm; all at once if left out. */
  readonly over?: Duration
  /** Type of the Node condition that becomes True. */
  readonly condition: string
  /** It ends by itself after this time; never if left out. */
  readonly clearsAfter?: Duration
  /** Operations that end it, such as reboot; none if left out. */
  readonly clearedBy?: readonly string[]
  /** How often such an operation ends it, from 0 to 1. */
  readonly clearShare?: number
}

/** The machines of a zone, a rack or a pool stop and cannot be reached. */
export interface Outage {
  readonly at?: Duration
  readonly pick: Pick
  readonly for: Duration
}

/** The API server cannot be reached: nothing is decided, and nothing is reported. */
export interface ApiOutage {
  readonly at?: Duration
  readonly for: Duration
}

/** Announced work on hosts. Budgets count the machines, and the hosts are away. */
export interface HostWork {
  readonly at?: Duration
  readonly pick: Pick
  readonly for: Duration
}

/** Hosts that a provider reclaims after a notice. Each is replaced by a new one under the same name. */
export interface SpotReclaim {
  readonly at?: Duration
  readonly pick: Pick
  /** The notices come one after the other during this time; all at once if left out. */
  readonly over?: Duration
  /** From the notice until the host stops; 2m if left out. */
  readonly notice?: Duration
  /** From when the provider begins with the new host until it serves; 5m if left out. */
  readonly replacedAfter?: Duration
}

/** A provider that throttles: hosts for replacements wait. */
export interface ProviderLimit {
  readonly at?: Duration
  readonly for: Duration
  /** Hosts that it makes in an hour; 0: none. */
  readonly perHour: number
}

/** A version of the commit that does not work. */
export interface BadVersion {
  readonly component: string
  /** Of the machines that switch to it, from 0 to 1; all if left out. */
  readonly share?: number
  /** RolledBack: the machine keeps the version that it had. Failed: neither runs. */
  readonly ends?: 'RolledBack' | 'Failed'
}

export interface Scenario {
  /** A sentence about it. */
  readonly description: string
  readonly faults?: readonly Fault[]
  readonly outages?: readonly Outage[]
  readonly apiOutages?: readonly ApiOutage[]
  readonly hostWork?: readonly HostWork[]
  readonly spotReclaims?: readonly SpotReclaim[]
  readonly providerLimits?: readonly ProviderLimit[]
  readonly badVersions?: readonly BadVersion[]
  /** How long is simulated at most. */
  readonly until?: Duration
  /** Conditions on figures that must be true for every seed, such as 'own.zone <= 10%'. */
  readonly expect?: readonly string[]
}
