// The spec of a repair for tests; only its operations matter to most.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'

type Spec = RemedyOperationJob['spec']

export const repairSpec = (operations: Spec['operations'], more: Partial<Spec> = {}): Spec => ({
  machine: 'm',
  node: { name: 'm', uid: 'node-uid' },
  remedierRef: { name: 'r', generation: 1 },
  incident: '0123456789abcdef',
  rung: 0,
  attempt: 1,
  operations,
  timeout: '30m',
  stableFor: '5m',
  dryRun: false,
  ...more,
})
