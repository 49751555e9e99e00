// Reads the kubeconfig that sync has for a cluster of the hub. It is a secret.
import type { Cluster } from '#api/kinds/cluster.ts'
import { kubeconfigPlace } from '#explain/shown-cluster.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { isApiError } from '#kube/errors.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { clusterErrors } from './cluster-errors.ts'

export async function kubeconfigOf(client: KubeClient, cluster: Cluster): Promise<string> {
  const { name = '' } = cluster.metadata
  const place = kubeconfigPlace(cluster)
  if (place === undefined) throw new KubeNodeError(clusterErrors.KN7301_reached({ name, why: 'it was not made yet' }))
  const { namespace, secret, key } = place
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
