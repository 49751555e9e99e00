// What the program passes to the sync role in addition to what every module gets: access to clusters, and its configuration.
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
  /** Everything that a commit declares is on this machine; objects declared for elsewhere are rehearsed here. */
  readonly rehearsal?: Rehearsal
  /** Folder for copies of remote repositories. */
  readonly cacheDir: string
  /** Whether a fleet may be rendered on a machine without namespaces. */
  readonly weakCage: WeakCage
  /** What a cage loads instead of the sources; default: the files built next to this program. */
  readonly caged?: Bundle | undefined
  /** Version of this program, for commits that depend on another one. */
  readonly version?: string
  /** Renders in Jobs with this image, which contains the program in this version; without it, in a local process. */
  readonly jobs?: { readonly image: string; readonly version: string; readonly placement?: Placement }
  /** Overrides both ways to render. */
  readonly renderer?: Renderer
  /** Environment that git needs for remote repositories: PATH. */
  readonly gitEnv?: Readonly<Record<string, string>>
  /** Which git servers sources may name; default: none on this machine. */
  readonly gitReach?: GitReach
  /** Size limit of one repository's copy. */
  readonly maxRepositoryBytes?: number
  /** Repositories on this machine that sources may name; default: none. */
  readonly localRepositories?: readonly LocalRepositories[]
  /** How often a local repository is checked for a new commit. */
  readonly localPollMs?: number
  readonly renderLimits?: CageLimits
  /** What pipeline gates may query. */
  readonly checks?: ChecksConfig
  /** Where their tokens may be sent; default: nowhere. */
  readonly outbound?: OutboundPlaces
}

export interface SyncContext extends ModuleContext {
  readonly events: EventRecorder
  /** Makes a cluster's client from its kubeconfig; the HTTP client in a real program. */
  readonly connect: (config: ConnectionConfig) => KubeClient
  /** A hub client that acts as this user. */
  readonly hubAs: (user: string) => KubeClient
  /** What to notify about, and in which words. */
  readonly news: NewsReader
  readonly config: SyncConfig
}
