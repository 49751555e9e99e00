// Maps the options of `kubenode run` to the roles of one cluster.
import type { AgentIdentity } from '#identity/token-life.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import type { WebhookOptions } from '#defender/webhook/replica.ts'
import type { ServedProvider } from '#providers/providers-file.ts'
import { hostOf } from '#runtime/outbound/checked-lookup.ts'
import type { OutboundPlaces } from '#runtime/outbound/places.ts'
import type { Rehearsal } from '#sync/rehearsal/rehearsed.ts'
import type { Placement } from '#sync/render/job/job-spec.ts'
import type { HistoryBounds } from '#history/record/bounds.ts'
import type { ServedArtifacts } from '../run/artifacts-options.ts'
import type { ServedConsole } from '../run/console-file.ts'

import type { HostedConfig } from '../hosted/hosted-options.ts'

export const ARTIFACT_TRUST = ['servers', 'host'] as const
export type ArtifactTrust = (typeof ARTIFACT_TRUST)[number]

export interface RolesConfig {
  readonly cluster: string
  /** How hosts reach this cluster's API server. */
  readonly server: string
  /** Read for each host, because a rotation may replace it while this program runs. */
  readonly ca: () => string
  /** Providers that Machines may get hosts from. */
  readonly providers: readonly ServedProvider[]
  /** Other clusters get hosts from them too. */
  readonly areProvidersShared?: boolean
  readonly artifactBase: string
  /** Base64 PEM of the CA that hosts trust for artifacts. For role cluster: that of hosts of Clusters. */
  readonly artifactCaData?: string
  /** Without that CA: the one of this cluster's own artifact servers, or whatever hosts trust anyway. */
  readonly artifactTrust?: ArtifactTrust
  /** SHA-256 of the join.sh given to hosts. */
  readonly joinScript?: string
  /** Socket of the control plane host, for the cluster role. */
  readonly controlPlanes?: string
  /** File listing the Kubernetes versions that this hub runs as control planes. */
  readonly controlPlaneVersions?: string
  /** This hub runs controllers, approver and Defender of its Clusters. */
  readonly hostsPrograms?: boolean
  /** File with the objects of programs that run in Clusters. */
  readonly programsInClusters?: string
  /** Settings of the hosted role. */
  readonly hosted?: HostedConfig
  /** Settings of the artifacts role. */
  readonly artifacts?: ServedArtifacts
  /** Where the history role writes and the console reads, and how much is kept. */
  readonly history?: { readonly folder: string; readonly bounds: HistoryBounds }
  /** Settings of the console role, and how this program connects to the cluster. */
  readonly console?: ServedConsole
  readonly connection: ConnectionConfig
  /** The trust document for new hosts; they get its keys and the document itself. */
  readonly trust?: string
  /** Clusters are targets too. */
  readonly isHub: boolean
  /** Where the Defender's webhook listens and how the API server reaches it; no webhook if left out. */
  readonly webhook?: WebhookOptions
  /** Allowed targets of rollout inspections and gates. */
  readonly inspections?: { readonly prometheus?: string; readonly allow: readonly string[] }
  /** Allowed targets of repair webhooks and gate tokens; none if left out. */
  readonly outbound?: OutboundPlaces
  /** Lifetime of agent certificates; a week if left out. */
  readonly certificateSeconds?: number
  /** Identity of agents that join from now on; a certificate if left out. */
  readonly agentIdentity?: AgentIdentity
  /** Where sync keeps copies of repositories. */
  readonly cache: string
  readonly maxRepositoryBytes: number
  readonly hooks?: { readonly host: string; readonly port: number }
  readonly weakCage: 'allow' | 'refuse'
  /** Sync renders in Jobs of this image; in a local process if left out. */
  readonly renderImage?: string
  readonly renderPlacement?: Placement
  readonly gitEnv: Readonly<Record<string, string>>
  /** `FOLDER` or `NAMESPACE/NAME=FOLDER`: repositories on this machine that sources may use. */
  readonly localRepositories: readonly string[]
  readonly rehearsal?: Rehearsal
  /** Git servers that sources may name wherever their addresses lead. */
  readonly gitHosts: readonly string[]
  /** The Node.js program, and the programs of KubeNode that hosts run. */
  readonly node: string
  readonly entries: Readonly<Record<'agent' | 'hollow', string>>
}

/** Both names of the API server: the one this program uses and the one hosts use. An object must never make a program call either. */
export const apiServersOf = ({ server, connection }: RolesConfig): readonly string[] =>
  [server, connection.server].flatMap((text) => {
    const url = URL.parse(text)
    return url === null ? [] : [hostOf(url).toLowerCase()]
  })
