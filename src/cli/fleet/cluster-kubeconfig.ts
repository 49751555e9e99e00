// Reads a kubeconfig for a cluster of the hub: that of sync, or that of its administrator. Either is a secret.
import type { Cluster } from '#api/kinds/cluster.ts'
import { KUBECONFIG_KEY } from '#api/names.ts'
import { idOf } from '#controllers/cluster/seen.ts'
import { ADMIN_LEAF, kubeconfigName } from '#controlplanes/credentials/recipe.ts'
import { credentialSecretName } from '#controlplanes/credentials/secrets.ts'
import { planeNamespace } from '#controlplanes/kubernetes/plane-record.ts'
import { type KubeconfigPlace, kubeconfigPlace } from '#explain/shown-cluster.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { isApiError } from '#kube/errors.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Io } from '#lib/terminal/io.ts'
import { clusterErrors } from './cluster-errors.ts'

export function kubeconfigOf(client: KubeClient, cluster: Cluster): Promise<string> {
  const { name = '' } = cluster.metadata
  const place = kubeconfigPlace(cluster)
  if (place === undefined) throw new KubeNodeError(clusterErrors.KN7301_reached({ name, why: 'it was not made yet' }))
  return textIn(client, name, place)
}

/** On the standard output, and beside it whose it is. */
export async function printKubeconfig(
  client: KubeClient,
  cluster: Cluster,
  { isAdmin }: { readonly isAdmin: boolean },
  io: Io,
): Promise<void> {
  io.out(await (isAdmin ? adminKubeconfigOf : kubeconfigOf)(client, cluster))
  io.err(isAdmin ? WHOSE.admin : WHOSE.sync)
}

const WHOSE = {
  admin: 'this is the administrator of the cluster: it may do everything there, for 90 days at most; keep it secret\n',
  sync: 'this is the identity of sync: it declares objects, and is no administrator; keep it secret\n',
} as const

function adminKubeconfigOf(client: KubeClient, cluster: Cluster): Promise<string> {
  const { name = '' } = cluster.metadata
  const { controlPlane } = cluster.spec
  if (controlPlane === undefined) throw new KubeNodeError(clusterErrors.KN7301_registered({ name }))
  if (controlPlane.flavor === 'embedded') throw new KubeNodeError(clusterErrors.KN7301_embedded({ name }))
  const secret = credentialSecretName(kubeconfigName(ADMIN_LEAF))
  return textIn(client, name, { namespace: planeNamespace(idOf(cluster)), secret, key: KUBECONFIG_KEY })
}

async function textIn(client: KubeClient, name: string, { namespace, secret, key }: KubeconfigPlace): Promise<string> {
  const stored = await client.get(coreKind('Secret'), { namespace, name: secret }).catch((error: unknown) => {
    if (!isApiError(error) || error.status !== 403) throw error
    throw new KubeNodeError(clusterErrors.KN2403_secret({ name, namespace, secret }), { cause: error })
  })
  const data = isObject(stored?.['data']) ? stored['data'] : {}
  const text = key === undefined ? (data['value'] ?? data['kubeconfig']) : data[key]
  if (typeof text !== 'string') {
    const why = `Secret ${namespace}/${secret} ${stored === undefined ? 'does not exist' : 'has no such key'}`
    throw new KubeNodeError(clusterErrors.KN7301_reached({ name, why }))
  }
  return Buffer.from(text, 'base64').toString('utf8')
}
