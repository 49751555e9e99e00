// The way of every change: test first, then production, one cluster at a time. The times are those of a fleet on one machine.
import { ReleasePipeline, type HubChart } from '#api/constructs/constructs.ts'

const stage = (name: string) => ({
  name,
  clusters: { selector: { matchLabels: { 'kubenode.io/stage': name } } },
  gates: [
    { name: 'ready', machinesReady: {} },
    { name: 'consistent', componentsConsistent: {} },
  ],
  // Short for a fleet on a desk; minutes to hours for a real one.
  minSuccessTime: '1s',
})

export function declarePipeline(hub: HubChart): void {
  new ReleasePipeline(hub, 'standard', { spec: { stages: [stage('test'), stage('prod')] } })
}
