// The clusters, on the hub, which makes and removes their control planes.
import { Cluster, type HubChart } from 'kubenode/constructs'
import type { FleetCluster } from './clusters.ts'

/** Of Kubernetes; another minor is an upgrade of every control plane. */
const VERSION = '1.36.0'

export function declareCluster(hub: HubChart, { name, stage, isRegistered }: FleetCluster): void {
  const controlPlane = { flavor: 'embedded' } as const
  new Cluster(hub, name, {
    metadata: { labels: { 'kubenode.io/stage': stage } },
    spec: isRegistered
      ? { kubeconfigSecretRef: { name: `cluster-${name}`, key: 'kubeconfig' }, stage }
      : { version: VERSION, controlPlane, deletionPolicy: 'Delete', stage },
  })
}
