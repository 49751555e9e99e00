// The workers of a cluster, and which components they must have.
import { MachineComponentSet, MachineSet, type ClusterChart } from '#api/constructs/constructs.ts'
import type { FleetCluster } from '../clusters/clusters.ts'

const WORKERS = { 'kubenode.io/pool': 'workers' }

export function declareMachines(chart: ClusterChart, { workers, stage }: FleetCluster): void {
  new MachineSet(chart, 'workers', {
    spec: {
      replicas: workers,
      selector: { matchLabels: WORKERS },
      template: {
        metadata: { labels: WORKERS },
        spec: { provider: { name: 'process' }, pool: 'workers' },
      },
    },
  })
  new MachineComponentSet(chart, 'base', {
    spec: {
      selector: { matchLabels: WORKERS },
      // Versions come here once their MachineComponents are declared under fleet/components.
      components: [],
      rollout: {
        soak: stage === 'prod' ? '15m' : '1m',
        inspections: [
          { name: 'ready', nodeReady: {} },
          { name: 'healthy', componentsHealthy: {} },
        ],
      },
    },
  })
}
