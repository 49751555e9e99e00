// Which authorities, key sets, certificates and kubeconfigs a control plane needs. Data only: a flavor passes its recipe to the graph.
import { programUser } from '#api/names.ts'

/** Certificates that KubeNode renews itself. */
export const LEAF_DAYS = 90
/** An authority is also rotated, in phases, at two thirds of this. */
export const AUTHORITY_DAYS = 3_650
/** Hosts may join with data issued up to this long ago: a bundle with only the old authority must not outlive it. */
const JOIN_MS = 15 * 60_000
/** The longest life of a service account token: kube-apiservers extend pod tokens to one year. */
const TOKEN_MS = 366 * 86_400_000

export interface AuthorityRecipe {
  readonly name: string
  readonly commonName: string
  readonly days: number
  /** Who verifies with it. Agents must report the new one before it signs, and certificates from the new one before the old one is removed. */
  readonly trustedBy: 'Agents' | 'Servers'
}

export interface KeySetRecipe {
  readonly name: string
  /** Maximum validity of anything the old key signed. */
  readonly signedForMs: number
}

export interface LeafRecipe {
  readonly name: string
  readonly authority: string
  readonly usage: 'client' | 'server' | 'peer'
  readonly commonName: string
  readonly organizations?: readonly string[]
  /** It serves the endpoint, so it includes the cluster's names and addresses. */
  readonly isEndpoint?: boolean
  /** Additional names it serves under. */
  readonly hosts?: readonly string[]
  readonly days: number
}

export interface KubeconfigRecipe {
  readonly name: string
  readonly authority: string
  /** Its client certificate. */
  readonly leaf: string
}

/** A key that only the servers know, to seal what they store. */
export interface SealingKeyRecipe {
  readonly name: string
  readonly bytes: number
}

export interface Recipe {
  readonly authorities: readonly AuthorityRecipe[]
  readonly keySets: readonly KeySetRecipe[]
  readonly sealingKeys?: readonly SealingKeyRecipe[]
  readonly leaves: readonly LeafRecipe[]
  readonly kubeconfigs: readonly KubeconfigRecipe[]
  /** The minimum time that a new authority of agents is only trusted, and then that the old one stays trusted. */
  readonly joinMs: number
}

/** Names of items that every flavor has. */
export const CLUSTER_AUTHORITY = 'ca'
export const TOKEN_KEYS = 'service-account'
export const SERVER_LEAF = 'apiserver'
/** For emergencies; only people use it. */
export const ADMIN_LEAF = 'admin'
/** The hub applies addons with it. */
export const HUB_LEAF = 'hub'
/** Sync applies the cluster's declarations with it. */
export const SYNC_LEAF = 'sync'

/** Only for Kubernetes programs. */
export const ETCD_AUTHORITY = 'etcd-ca'
export const PROXY_AUTHORITY = 'front-proxy-ca'
export const ENCRYPTION_KEY = 'encryption'

export const MASTERS = 'system:masters'

const client = (name: string, commonName: string, organizations: readonly string[] = []): LeafRecipe => ({
  name,
  authority: CLUSTER_AUTHORITY,
  usage: 'client',
  commonName,
  organizations,
  days: LEAF_DAYS,
})

export const kubeconfigName = (leaf: string): string => `kubeconfig-${leaf}`

/** One authority, one key set, one server. The embedded server has no other parts. */
export const EMBEDDED_RECIPE: Recipe = {
  authorities: [{ name: CLUSTER_AUTHORITY, commonName: 'kubenode-ca', days: AUTHORITY_DAYS, trustedBy: 'Agents' }],
  keySets: [{ name: TOKEN_KEYS, signedForMs: TOKEN_MS }],
  leaves: [
    {
      name: SERVER_LEAF,
      authority: CLUSTER_AUTHORITY,
      usage: 'server',
      commonName: 'kube-apiserver',
      isEndpoint: true,
      days: LEAF_DAYS,
    },
    client(ADMIN_LEAF, 'kubernetes-admin', [MASTERS]),
    client(HUB_LEAF, programUser('cluster'), [MASTERS]),
    client(SYNC_LEAF, programUser('sync')),
  ],
  kubeconfigs: [ADMIN_LEAF, HUB_LEAF, SYNC_LEAF].map((leaf) => ({
    name: kubeconfigName(leaf),
    authority: CLUSTER_AUTHORITY,
    leaf,
  })),
  joinMs: JOIN_MS,
}
