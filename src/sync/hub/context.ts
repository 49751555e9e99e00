// What the program gives to the sync role beyond what every module gets: ways to clusters, and its configuration.
import type { NewsReader } from '../notify/news.ts'
import type { KubeClient } from '#kube/client.ts'
import type { EventRecorder } from '#kube/events.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import type { ModuleContext } from '#runtime/module.ts'
import type { ChecksConfig } from '#runtime/outbound/external-checks.ts'
import type { OutboundPlaces } from '#runtime/outbound/places.ts'
import type { LocalRepositories } from '../git/access.ts'
import type { GitReach } from '../git/reach.ts'
import type { Bundle } from '../render/bundle.ts'
import type { WeakCage } from '../render/cage.ts'
import type { Placement } from '../render/job/job-spec.ts'
import type { Renderer } from '../render/renderer.ts'
import type { Rehearsal } from '../rehearsal/rehearsed.ts'
import type { CageLimits } from '../render/run-caged.ts'

export interface SyncConfig {
  /** Everything that a commit declares is on this machine; what it declares elsewhere is rehearsed here. */
  readonly rehearsal?: Rehearsal
  /** Where copies of remote repositories are kept. */
  readonly cacheDir: string
  /** Whether a fleet may be rendered where the machine gives no namespaces. */
  readonly weakCage: WeakCage
  /** What a cage loads in place of the sources; what was built beside this program when left out. */
  readonly caged?: Bundle | undefined
  /** Of this program, for commits that depend on another one. */
  readonly version?: string
  /** Renders in Jobs of this image, which holds the program in this version; in a process without it. */
  readonly jobs?: { readonly image: string; readonly version: string; readonly placement?: Placement }
  /** Renders in place of both. */
  readonly renderer?: Renderer
  /** Environment that git needs for remote repositories: PATH. */
  readonly gitEnv?: Readonly<Record<string, string>>
  /** Which git servers sources may name; without it none of this machine. */
  readonly gitReach?: GitReach
  /** Of the copy of one repository. */
  readonly maxRepositoryBytes?: number
  /** Repositories of this machine that sources may name; none without. */
  readonly localRepositories?: readonly LocalRepositories[]
  /** How often a local repository is checked for a new commit. */
  readonly localPollMs?: number
  readonly renderLimits?: CageLimits
  /** What gates of pipelines may ask. */
  readonly checks?: ChecksConfig
  /** Where their tokens may be sent; nowhere without. */
  readonly outbound?: OutboundPlaces
}

export interface SyncContext extends ModuleContext {
  readonly events: EventRecorder
  /** Makes the client of a cluster from its kubeconfig; the HTTP client in a real program. */
  readonly connect: (config: ConnectionConfig) => KubeClient
  /** A client of the hub that acts as this user. */
  readonly hubAs: (user: string) => KubeClient
  /** What to notify of, and in which words. */
  readonly news: NewsReader
  readonly config: SyncConfig
}
