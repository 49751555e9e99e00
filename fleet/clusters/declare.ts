// The clusters, on the hub. Both exist already: the Secret that each names says how to reach it.
import { Cluster, type HubChart } from '#api/constructs/constructs.ts'
import type { FleetCluster } from './clusters.ts'

export function declareCluster(hub: HubChart, { name, stage }: FleetCluster): void {
  new Cluster(hub, name, {
    metadata: { labels: { 'kubenode.io/stage': stage } },
    spec: { kubeconfigSecretRef: { name: `cluster-${name}`, key: 'kubeconfig' }, stage },
  })
}
