// Maps the options of `kubenode run` to the roles of one cluster.
import type { AgentIdentity } from '#identity/token-life.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import type { WebhookOptions } from '#defender/webhook/replica.ts'
import type { ServedProvider } from '#providers/providers-file.ts'
import { hostOf } from '#runtime/outbound/checked-lookup.ts'
import type { OutboundPlaces } from '#runtime/outbound/places.ts'
import type { Rehearsal } from '#sync/rehearsal/rehearsed.ts'
import type { Placement } from '#sync/render/job/job-spec.ts'
import type { ServedArtifacts } from '../run/artifacts-options.ts'
import type { ServedConsole } from '../run/console-file.ts'

export interface RolesConfig {
  readonly cluster: string
  /** How hosts reach this cluster's API server. */
  readonly server: string
  /** Read for each host: a rotation replaces it while this program runs. */
  readonly ca: () => string
  /** Providers whose hosts Machines may have. */
  readonly providers: readonly ServedProvider[]
  readonly artifactBase: string
  /** PEM in base64: whom hosts trust there; that of our own artifact servers when left out. */
  readonly artifactCaData?: string
  /** SHA-256 of the join.sh that hosts are given. */
  readonly joinScript?: string
  /** Socket of the host of control planes, for role cluster. */
  readonly controlPlanes?: string
  /** File with the versions of Kubernetes that this hub runs control planes of. */
  readonly controlPlaneVersions?: string
  /** Settings of role artifacts. */
  readonly artifacts?: ServedArtifacts
  /** Settings of role console, and how this program connects to the cluster. */
  readonly console?: ServedConsole
  readonly connection: ConnectionConfig
  /** The trust document that hosts start with; they get its keys and the document itself. */
  readonly trust?: string
  /** Clusters are targets too. */
  readonly isHub: boolean
  /** Where the API server reaches the defender's webhook, and where it listens; none is served without. */
  readonly webhook?: WebhookOptions
  /** Allowed targets of rollout inspections, and of gates. */
  readonly inspections?: { readonly prometheus?: string; readonly allow: readonly string[] }
  /** Allowed targets of repair webhooks, and of tokens of gates; none without it. */
  readonly outbound?: OutboundPlaces
  /** Lifetime of agents' certificates; a week without it. */
  readonly certificateSeconds?: number
  /** Identity of agents that join from now on; a certificate by default. */
  readonly agentIdentity?: AgentIdentity
  /** Where sync keeps copies of repositories. */
  readonly cache: string
  readonly maxRepositoryBytes: number
  readonly hooks?: { readonly host: string; readonly port: number }
  readonly weakCage: 'allow' | 'refuse'
  /** Sync renders in Jobs of this image; in a process without it. */
  readonly renderImage?: string
  readonly renderPlacement?: Placement
  readonly gitEnv: Readonly<Record<string, string>>
  /** `FOLDER` or `NAMESPACE/NAME=FOLDER`: repositories of this machine that sources may use. */
  readonly localRepositories: readonly string[]
  readonly rehearsal?: Rehearsal
  /** Git servers that sources may name wherever they lead. */
  readonly gitHosts: readonly string[]
  /** The Node.js program, and the programs of KubeNode that hosts run. */
  readonly node: string
  readonly entries: Readonly<Record<'agent' | 'hollow', string>>
}

/** Under both names: as this program reaches it, and as hosts do. Objects of the cluster never have a program call them. */
export const apiServersOf = ({ server, connection }: RolesConfig): readonly string[] =>
  [server, connection.server].flatMap((text) => {
    const url = URL.parse(text)
    return url === null ? [] : [hostOf(url).toLowerCase()]
  })
