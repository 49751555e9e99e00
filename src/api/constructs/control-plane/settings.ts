// The complete input for rendering a control plane's objects, decided elsewhere.
import { parseVersion } from '#lib/semver.ts'

export const PARTS = ['etcd', 'apiserver', 'controller-manager', 'scheduler'] as const
export type Part = (typeof PARTS)[number]

export interface PartForm {
  readonly version: string
  /** The minor whose behavior it keeps: 35 for 1.35. Has no meaning for etcd. */
  readonly emulates: number
  /** By digest, so that exactly the tested image runs, whatever its tag becomes. */
  readonly image: string
}

/** An address block with exceptions. */
export interface AddressBlock {
  readonly cidr: string
  readonly except?: readonly string[]
}

type EndpointType = 'ClusterIP' | 'NodePort' | 'LoadBalancer'

export interface ControlPlaneSettings {
  /** namespace.name of the Cluster: part of labels and of etcd's token. */
  readonly cluster: string
  /** Contains the whole control plane and nothing else. */
  readonly namespace: string
  readonly parts: Readonly<Record<Part, PartForm>>
  /** API servers, controller managers and schedulers. */
  readonly replicas: number
  /** `Etcd`: only the store, for a snapshot of a stopped control plane. `Servers`: not yet the clients of the API server. */
  readonly running: 'All' | 'Servers' | 'Etcd' | 'Nothing'
  readonly etcd: {
    readonly members: number
    readonly storage: string
    readonly storageClass?: string
    /** Whether volumes outlive the control plane. */
    readonly keepsVolumes: boolean
    /** Whether members wait for a node of their own on a hub that has fewer nodes. */
    readonly hasOwnNodes: boolean
    /** The first members start the cluster; a replaced one joins it. */
    readonly isFounded: boolean
    /** Whether a member with an empty volume may start: until all have served together, and while a removed one joins again. */
    readonly startsEmpty: boolean
    /** Token of the members, so that those of another cluster on the same network, or of the store before a restore, are never mistaken for them. */
    readonly token: string
    /** Size of the snapshot volume. */
    readonly snapshotStorage: string
  }
  readonly endpoint: {
    readonly type: EndpointType
    /** Fixed before certificates are created, so that both agree. */
    readonly host: string
    readonly port: number
    readonly nodePort?: number
    readonly loadBalancerIP?: string
  }
  readonly network: { readonly pods: string; readonly services: string; readonly domain: string }
  /** Where API servers may call, besides DNS and their etcd: kubelets, webhooks and extension API servers are wherever the cluster's nodes are. */
  readonly reachable: readonly AddressBlock[]
  readonly resources?: { readonly cpu?: string; readonly memory?: string }
  /** By part.flag. */
  readonly extraArgs: Readonly<Record<string, string>>
  /** Digest of each part's credentials: a change replaces its pods. */
  readonly credentials: Readonly<Record<Part, string>>
  /** Public keys of service accounts that are still trusted, besides the one that signs. */
  readonly oldTokenKeys: number
  readonly imagePullSecrets: readonly string[]
}

export const API_PORT = 6443
export const ETCD = { client: 2379, peer: 2380, metrics: 2381 } as const
export const MANAGER_PORTS = { 'controller-manager': 10_257, scheduler: 10_259 } as const

/** A control plane's Secrets and their files. The code that fills them uses this, and so does the test that runs the programs. */
export const SECRETS = {
  'etcd-server': ['ca.crt', 'tls.crt', 'tls.key'],
  'etcd-peer': ['ca.crt', 'tls.crt', 'tls.key'],
  'apiserver-etcd': ['ca.crt', 'tls.crt', 'tls.key'],
  apiserver: ['tls.crt', 'tls.key'],
  // Separate from its key, because managers read it too.
  'client-ca': ['ca.crt'],
  'apiserver-kubelet': ['tls.crt', 'tls.key'],
  'front-proxy': ['ca.crt', 'tls.crt', 'tls.key'],
  'service-accounts': ['sa.key', 'sa.pub'],
  encryption: ['config.yaml'],
  'cluster-ca': ['tls.crt', 'tls.key'],
  'controller-manager-kubeconfig': ['kubeconfig'],
  'scheduler-kubeconfig': ['kubeconfig'],
} as const
export type SecretName = keyof typeof SECRETS

/** Which part reads which Secrets: its pods mount only these, and are replaced when one of them changes. */
export const READ_BY: Readonly<Record<Part, readonly SecretName[]>> = {
  etcd: ['etcd-server', 'etcd-peer'],
  apiserver: [
    'apiserver',
    'client-ca',
    'apiserver-etcd',
    'apiserver-kubelet',
    'front-proxy',
    'service-accounts',
    'encryption',
  ],
  'controller-manager': ['controller-manager-kubeconfig', 'service-accounts', 'cluster-ca', 'client-ca'],
  scheduler: ['scheduler-kubeconfig'],
}

/** Where a Secret is mounted. */
export const folderOf = (secret: SecretName): string => `/etc/kubernetes/${secret}`

/** 36 for 1.36.2; undefined if it is not a Kubernetes 1 version. */
export function minorOf(version: string): number | undefined {
  const parsed = parseVersion(version)
  return parsed === undefined || parsed.numbers[0] !== 1 ? undefined : parsed.numbers[1]
}
