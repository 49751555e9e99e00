// What the checks judge: everything read from the cluster once, each reading known or not.
import type { KubeObject } from '#api/schema/object.ts'
import type { Installed } from '../observe.ts'
import type { Alteration } from './altered.ts'
import type { NetworkPlugins } from './network-plugins.ts'
import type { NamedProviders } from './named-providers.ts'
import type { ProgramClock } from './program-clocks.ts'
import type { UnendedRun } from './unended-run.ts'
import type { Storage } from './storage.ts'

/** Unread is no answer: no check passes on it. */
export type Reading<T> = { readonly value: T } | { readonly unread: string }

export interface CheckSeen {
  readonly server: Reading<{ readonly text: string; readonly major: number; readonly minor: number }>
  /** Rights that are missing, as `create clusterroles`. */
  readonly missing: Reading<readonly string[]>
  readonly servesPolicies: Reading<boolean>
  /** Undefined: it signed; otherwise why not. */
  readonly signer: Reading<string | undefined> | 'NotAsked'
  /** Undefined: hosts can join with bootstrap tokens; otherwise why not. */
  readonly joinTokens: Reading<string | undefined> | 'NotAsked'
  readonly installed: Reading<Installed>
  readonly nodes: Reading<{ readonly ready: number; readonly total: number }>
  /** How far the clocks are apart at least: what the request itself took is no difference. */
  readonly skewMs: Reading<number>
  readonly agents: Reading<readonly { readonly machine: string; readonly version: string }[]>
  readonly remediators: Reading<readonly string[]>
  /** Where the API server listens, as pods reach it. */
  readonly serverPorts: Reading<readonly number[]>
  readonly networkPlugins: Reading<NetworkPlugins>
  /** Our namespaces that are being deleted. */
  readonly ending: Reading<readonly { readonly namespace: string; readonly why: string }[]>
  /** Workloads in our namespace that are not ours. */
  readonly strangers: Reading<readonly string[]>
  /** Workloads of KubeNode in other namespaces. */
  readonly elsewhere: Reading<readonly KubeObject[]>
  readonly storage: Reading<Storage>
  /** By workload: why the cluster refuses its pods. */
  readonly refusals: Reading<readonly { readonly workload: string; readonly namespace: string; readonly why: string }[]>
  /** Only of an installation. */
  readonly running?: {
    /** Roles that led a cluster in which no Deployment runs them, as in the fleet of `npm start`. */
    readonly processes?: readonly string[]
    /** A run of install, upgrade or uninstall that is running now, or that ended too early. */
    readonly run?: Reading<UnendedRun | undefined>
    readonly unready: Reading<readonly string[]>
    /** What people changed in the programs since they were installed. */
    readonly altered: Reading<readonly Alteration[]>
    /** Policies, and objects that programs only update, which were deleted or weakened. */
    readonly lost?: Reading<readonly Alteration[]>
    readonly leaderless: Reading<readonly string[]>
    /** Of programs that renew their leases. */
    readonly clocks: Reading<readonly ProgramClock[]>
    /** Undefined: what the controllers serve is not known. */
    readonly providers?: Reading<NamedProviders | undefined>
    readonly webhook: Reading<string | undefined> | 'NotAsked'
    /** Where the settings have no webhook. */
    readonly isWebhookLeft: Reading<boolean> | 'NotAsked'
  }
}
