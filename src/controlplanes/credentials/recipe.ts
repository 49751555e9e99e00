// Which authorities, key sets, certificates and kubeconfigs a control plane needs. Data only: a flavor hands its recipe to the graph.
import { programUser } from '#api/names.ts'

/** Certificates that we renew ourselves. */
export const LEAF_DAYS = 90
/** An authority is rotated by phases at two thirds of that, too. */
export const AUTHORITY_DAYS = 3_650
/** Hosts join with what they were given up to this long ago: a bundle with the old authority alone must not outlive its use. */
const JOIN_MS = 15 * 60_000
/** The longest life of a service account token that a server gives: kube-apiservers extend tokens of pods to one year. */
const TOKEN_MS = 366 * 86_400_000

export interface AuthorityRecipe {
  readonly name: string
  readonly commonName: string
  readonly days: number
  /** Who verifies with it. Agents must report the new one before it signs, and certificates of the new one before the old one is removed. */
  readonly trustedBy: 'Agents' | 'Servers'
}

export interface KeySetRecipe {
  readonly name: string
  /** What the old key signed is valid for at most this long. */
  readonly signedForMs: number
}

export interface LeafRecipe {
  readonly name: string
  readonly authority: string
  readonly usage: 'client' | 'server' | 'peer'
  readonly commonName: string
  readonly organizations?: readonly string[]
  /** It serves the endpoint: the names and addresses of the cluster are in it. */
  readonly isEndpoint?: boolean
  /** Other names that it serves under. */
  readonly hosts?: readonly string[]
  readonly days: number
}

export interface KubeconfigRecipe {
  readonly name: string
  readonly authority: string
  /** The client certificate in it. */
  readonly leaf: string
}

/** A key that the servers alone know, and seal what they store with. */
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
  /** How long a new authority of agents is only trusted, and then how long the old one still is, at least. */
  readonly joinMs: number
}

/** Names of the items that every flavor has. */
export const CLUSTER_AUTHORITY = 'ca'
export const TOKEN_KEYS = 'service-account'
export const SERVER_LEAF = 'apiserver'
/** For an emergency: nothing uses it but people. */
export const ADMIN_LEAF = 'admin'
/** With which the hub applies addons. */
export const HUB_LEAF = 'hub'
/** With which sync applies what git declares for the cluster. */
export const SYNC_LEAF = 'sync'

/** Of Kubernetes programs alone. */
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
