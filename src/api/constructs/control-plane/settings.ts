// What the objects of a control plane are rendered from: one value, complete, decided elsewhere.
import { parseVersion } from '#lib/semver.ts'

export const PARTS = ['etcd', 'apiserver', 'controller-manager', 'scheduler'] as const
export type Part = (typeof PARTS)[number]

export interface PartForm {
  readonly version: string
  /** The minor whose behavior it keeps: 35 for 1.35. Of etcd it says nothing. */
  readonly emulates: number
  /** By digest: what runs is what was tested, whatever a tag says tomorrow. */
  readonly image: string
}

/** Addresses of a family, without some of them. */
export interface AddressBlock {
  readonly cidr: string
  readonly except?: readonly string[]
}

type EndpointType = 'ClusterIP' | 'NodePort' | 'LoadBalancer'

export interface ControlPlaneSettings {
  /** Of the Cluster, namespace.name: part of labels and of etcd's token. */
  readonly cluster: string
  /** Where all of it lives, and nothing else does. */
  readonly namespace: string
  readonly parts: Readonly<Record<Part, PartForm>>
  /** API servers, controller managers and schedulers. */
  readonly replicas: number
  /** `Etcd`: only the store, for a snapshot of a control plane that is stopped. */
  readonly running: 'All' | 'Etcd' | 'Nothing'
  readonly etcd: {
    readonly members: number
    readonly storage: string
    readonly storageClass?: string
    /** Whether volumes outlive the control plane. */
    readonly keepsVolumes: boolean
    /** Members that found the cluster start it; one that is replaced joins it. */
    readonly isFounded: boolean
    /** Whether a member whose volume is empty may start: until all have served together, and while one that was removed joins again. */
    readonly startsEmpty: boolean
    /** Of the members: those of two clusters that share a network, or of a store before a restore and after it, never take each other for their own. */
    readonly token: string
    /** Size of the volume with the snapshots. */
    readonly snapshotStorage: string
  }
  readonly endpoint: {
    readonly type: EndpointType
    /** Settled before certificates are made, so that both say the same. */
    readonly host: string
    readonly port: number
    readonly nodePort?: number
    readonly loadBalancerIP?: string
  }
  readonly network: { readonly pods: string; readonly services: string; readonly domain: string }
  /** Where API servers may call, beside DNS and their etcd: kubelets, webhooks and extension API servers are wherever the nodes of the cluster are. */
  readonly reachable: readonly AddressBlock[]
  readonly resources?: { readonly cpu?: string; readonly memory?: string }
  /** By part.flag. */
  readonly extraArgs: Readonly<Record<string, string>>
  /** Digest of the credentials that each part reads: its pods are replaced when they change. */
  readonly credentials: Readonly<Record<Part, string>>
  /** Public keys of service accounts that are still trusted, beside the one that signs. */
  readonly oldTokenKeys: number
  readonly imagePullSecrets: readonly string[]
}

export const API_PORT = 6443
export const ETCD = { client: 2379, peer: 2380, metrics: 2381 } as const
export const MANAGER_PORTS = { 'controller-manager': 10_257, scheduler: 10_259 } as const

/** Secrets of a control plane and the files in them. Who fills them reads this; so does the test that runs the programs. */
export const SECRETS = {
  'etcd-server': ['ca.crt', 'tls.crt', 'tls.key'],
  'etcd-peer': ['ca.crt', 'tls.crt', 'tls.key'],
  'apiserver-etcd': ['ca.crt', 'tls.crt', 'tls.key'],
  apiserver: ['tls.crt', 'tls.key'],
  // Apart from the key beside it: managers read it too.
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

/** Which part reads what: its pods mount these and no others, and are replaced when one of them changes. */
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

/** 36 of 1.36.2; undefined when the text is no version of Kubernetes 1. */
export function minorOf(version: string): number | undefined {
  const parsed = parseVersion(version)
  return parsed === undefined || parsed.numbers[0] !== 1 ? undefined : parsed.numbers[1]
}
