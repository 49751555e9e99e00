// The input of the checks: everything read from the cluster once, each reading known or unread.
import type { KubeObject } from '#api/schema/object.ts'
import type { Installed } from '../observe.ts'
import type { Alteration } from './altered.ts'
import type { Hosted } from './flavors.ts'
import type { NetworkPlugins } from './network-plugins.ts'
import type { NamedProviders } from './named-providers.ts'
import type { ProgramClock } from './program-clocks.ts'
import type { UnendedRun } from './unended-run.ts'
import type { Storage } from './storage.ts'

/** Unread is not an answer: no check passes on it. */
export type Reading<T> = { readonly value: T } | { readonly unread: string }

export interface CheckSeen {
  readonly server: Reading<{ readonly text: string; readonly major: number; readonly minor: number }>
  /** Missing rights, as `create clusterroles`. */
  readonly missing: Reading<readonly string[]>
  readonly servesPolicies: Reading<boolean>
  /** Undefined: it signed; otherwise why not. */
  readonly signer: Reading<string | undefined> | 'NotAsked'
  /** Undefined: hosts can join with bootstrap tokens; otherwise why not. */
  readonly joinTokens: Reading<string | undefined> | 'NotAsked'
  readonly installed: Reading<Installed>
  readonly nodes: Reading<{ readonly ready: number; readonly total: number }>
  /** Lower bound of the clock skew: the request's duration does not count. */
  readonly skewMs: Reading<number>
  readonly agents: Reading<readonly { readonly machine: string; readonly version: string }[]>
  readonly remediators: Reading<readonly string[]>
  /** The API server's ports as pods reach them. */
  readonly serverPorts: Reading<readonly number[]>
  readonly networkPlugins: Reading<NetworkPlugins>
  /** KubeNode's namespaces that are being deleted. */
  readonly ending: Reading<readonly { readonly namespace: string; readonly why: string }[]>
  /** Other workloads in KubeNode's namespace. */
  readonly foreignObjects: Reading<readonly string[]>
  /** KubeNode workloads in other namespaces. */
  readonly elsewhere: Reading<readonly KubeObject[]>
  /** Clusters with a control plane on this hub. */
  readonly hosted: Reading<readonly Hosted[]>
  readonly storage: Reading<Storage>
  /** Per workload: why the cluster refuses its pods. */
  readonly refusals: Reading<readonly { readonly workload: string; readonly namespace: string; readonly why: string }[]>
  /** Only for an existing installation. */
  readonly running?: {
    /** Roles that led without a Deployment, as in the fleet of `npm start`. */
    readonly processes?: readonly string[]
    /** A run of install, upgrade or uninstall that is active, or stopped too early. */
    readonly run?: Reading<UnendedRun | undefined>
    readonly unready: Reading<readonly string[]>
    /** Changes that users made to the programs since the installation. */
    readonly altered: Reading<readonly Alteration[]>
    /** Policies, and objects that programs only update, that were deleted or weakened. */
    readonly lost?: Reading<readonly Alteration[]>
    readonly leaderless: Reading<readonly string[]>
    /** Of programs that renew their leases. */
    readonly clocks: Reading<readonly ProgramClock[]>
    /** Undefined if it is unknown what the controllers serve. */
    readonly providers?: Reading<NamedProviders | undefined>
    readonly webhook: Reading<string | undefined> | 'NotAsked'
    /** Only if the settings have no webhook. */
    readonly isWebhookLeft: Reading<boolean> | 'NotAsked'
  }
}
