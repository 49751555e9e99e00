// The pool of demo workers: processes of one machine without root, with two components made for it. beacon answers over HTTP, scribe writes a log; neither is of
// use on a real node, see hosts.ts.
import { MachineComponentSet, MachineSet, type ClusterChart } from 'kubenode/constructs'
import type { FleetCluster } from '../clusters/clusters.ts'
import versions from '../clusters/versions.json' with { type: 'json' }

const WORKERS = { 'kubenode.io/pool': 'workers' }

/** Short, for a fleet on one machine: a real one watches a step for minutes. */
const SOAK = { test: '1s', pre: '1s', prod: '2s' } as const

export function declareMachines(chart: ClusterChart, { workers, stage }: FleetCluster): void {
  // A set that selects no machine is Stalled, and the stage of its cluster would fail.
  if (workers === 0) return
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
      components: Object.entries(versions).map(([name, version]) => ({ name, version })),
      rollout: {
        soak: SOAK[stage],
        inspections: [
          { name: 'ready', nodeReady: {} },
          { name: 'healthy', componentsHealthy: {} },
        ],
      },
    },
  })
}
