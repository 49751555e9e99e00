// The control plane of a cluster, on the hub.
import { Cluster, type HubChart } from '#api/constructs/constructs.ts'
import type { FleetCluster } from './clusters.ts'

export function declareCluster(hub: HubChart, { name, stage }: FleetCluster): void {
  new Cluster(hub, name, {
    metadata: { labels: { 'kubenode.io/stage': stage } },
    spec: { version: '1.34.2', controlPlane: { flavor: 'embedded' }, stage },
  })
}
