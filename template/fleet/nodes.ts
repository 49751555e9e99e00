// The pool of nodes, and the components that each of them runs.
import { MachineComponentSet, MachineSet } from 'kubenode/constructs'
import type { Chart } from 'cdk8s'
import type { Pool } from './clusters.ts'
import versions from './versions.json' with { type: 'json' }

const WORKERS = { 'kubenode.io/pool': 'workers' }

export function declareNodes(chart: Chart, { nodes, provider }: Pool): void {
  new MachineSet(chart, 'workers', {
    spec: {
      replicas: nodes,
      selector: { matchLabels: WORKERS },
      template: { metadata: { labels: WORKERS }, spec: { provider: { name: provider }, pool: 'workers' } },
    },
  })
  new MachineComponentSet(chart, 'base', {
    spec: {
      selector: { matchLabels: WORKERS },
      components: Object.entries(versions).map(([name, version]) => ({ name, version })),
      rollout: {
        // Watched after each step; a failing machine stops the rollout.
        soak: '1m',
        inspections: [
          { name: 'ready', nodeReady: {} },
          { name: 'healthy', componentsHealthy: {} },
        ],
      },
    },
  })
}
