// The stages through which a change reaches further clusters. A cluster belongs to a stage by its label kubenode.io/stage.
import { ReleasePipeline, type HubChart } from 'kubenode/constructs'
import { STAGES, type Stage } from './clusters.ts'

/** How long all clusters of a stage must be well before the next one follows. Nothing waits for the last one. */
const SUCCESS: Readonly<Record<Stage, string>> = { test: '10m', prod: '0s' }

const stage = (name: Stage) => ({
  name,
  clusters: { selector: { matchLabels: { 'kubenode.io/stage': name } } },
  gates: [
    { name: 'ready', machinesReady: {} },
    { name: 'consistent', componentsConsistent: {} },
  ],
  minSuccessTime: SUCCESS[name],
  // Versions of control planes, new keys, moves and deletions of clusters need no approval in test. A person approves them for the other stages.
  ...(name === 'test' && { withoutApproval: ['Versions', 'Rotations', 'Moves', 'Deletions'] as const }),
})

export function declarePipeline(hub: HubChart): void {
  new ReleasePipeline(hub, 'standard', { spec: { stages: STAGES.map(stage) } })
}
