// The pipeline of every change: test, pre, production, one cluster at a time. A stage without a cluster is skipped. The times suit a fleet on one machine.
import { ReleasePipeline, type HubChart } from 'kubenode/constructs'

/** How long a stage must be well before the next follows. A fleet on a desk does not wait; for a real one these are minutes to hours. */
const TEST_SOAK = '0s'
const PRE_SOAK = '0s'
/** Nothing waits for the last stage. */
const PROD_SOAK = '0s'

const RISKY = ['Versions', 'Rotations', 'Moves', 'Deletions'] as const

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
  // Versions of control planes, new keys, moves and deletions of clusters need no approval here. A person approves them for the later stages.
  const test = { ...stage('test', TEST_SOAK), withoutApproval: RISKY }
  const stages = [test, stage('pre', PRE_SOAK), stage('prod', PROD_SOAK)]
  new ReleasePipeline(hub, 'standard', { spec: { stages } })
}
