// The pipeline of every change: test, pre, production, one cluster at a time. A stage without a cluster is skipped. The times suit a fleet on one machine.
import { ReleasePipeline, type HubChart } from 'kubenode/constructs'

/** How long a stage must be well before the next follows. Short for a fleet on a desk; minutes to hours for a real one. */
const TEST_SOAK = '500ms'
const PRE_SOAK = '500ms'
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
  const stages = [stage('test', TEST_SOAK), stage('pre', PRE_SOAK), stage('prod', PROD_SOAK)]
  new ReleasePipeline(hub, 'standard', { spec: { stages } })
}
