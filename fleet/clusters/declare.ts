// The clusters, on the hub. They exist already: each references a Secret with its kubeconfig.
import { Cluster, type HubChart } from 'kubenode/constructs'
import type { FleetCluster } from './clusters.ts'

export function declareCluster(hub: HubChart, { name, stage }: FleetCluster): void {
  new Cluster(hub, name, {
    metadata: { labels: { 'kubenode.io/stage': stage } },
    spec: { kubeconfigSecretRef: { name: `cluster-${name}`, key: 'kubeconfig' }, stage },
  })
}
