// The stages through which a change reaches further clusters. A cluster belongs to a stage by its label kubenode.io/stage.
import { ReleasePipeline, type HubChart } from 'kubenode/constructs'

const stage = (name: string, minSuccessTime: string) => ({
  name,
  clusters: { selector: { matchLabels: { 'kubenode.io/stage': name } } },
  gates: [
    { name: 'ready', machinesReady: {} },
    { name: 'consistent', componentsConsistent: {} },
  ],
  minSuccessTime,
})

export function declarePipeline(hub: HubChart): void {
  new ReleasePipeline(hub, 'standard', { spec: { stages: [stage('test', '10m'), stage('prod', '0s')] } })
}
