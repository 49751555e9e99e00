// The pipeline of every change: test first, then production, one cluster at a time. The times suit a fleet on one machine.
import { ReleasePipeline, type HubChart } from 'kubenode/constructs'

/** What test must hold out before prod follows. Short for a fleet on a desk; minutes to hours for a real one. */
const TEST_SOAK = '1s'
/** Nothing waits for the last stage. */
const PROD_SOAK = '0s'

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
  new ReleasePipeline(hub, 'standard', { spec: { stages: [stage('test', TEST_SOAK), stage('prod', PROD_SOAK)] } })
}
