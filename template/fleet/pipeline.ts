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
  // Another version of a control plane, or new keys, are tried in test. A person approves them for the other stages.
  ...(name === 'test' && { withoutApproval: ['Versions', 'Rotations'] as const }),
})

export function declarePipeline(hub: HubChart): void {
  new ReleasePipeline(hub, 'standard', { spec: { stages: STAGES.map(stage) } })
}
