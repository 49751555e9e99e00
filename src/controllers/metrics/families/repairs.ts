// Metrics of repairs: jobs by phase, outcome and rung, open jobs by rule, exhausted ladders, and how long the oldest has waited for its permit.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { findCondition } from '#kube/conditions.ts'
import { ruleOf } from '#measure/repairs.ts'
import { type Family, tally } from './family.ts'

const NONE = 'none'

const isExhausted = ({ status }: RemedyOperationJob): boolean =>
  findCondition(status?.conditions, 'Stalled')?.reason === 'LadderExhausted'

export function repairFamilies(jobs: readonly RemedyOperationJob[], now: number): readonly Family[] {
  const open = jobs.filter((j) => j.status?.phase !== 'Done')
  const waiting = open.filter((j) => j.status?.phase === 'AwaitingPermit')
  const ages = waiting.map((j) => (now - Date.parse(j.metadata.creationTimestamp ?? '')) / 1_000)
  return [
    {
      name: 'kubenode_repair_jobs',
      help: 'Repairs of the last day by phase, outcome and rung.',
      labels: ['phase', 'outcome', 'rung'],
      samples: tally(jobs, ({ spec, status }) => ({
        phase: status?.phase ?? NONE,
        outcome: status?.outcome ?? NONE,
        rung: String(spec.rung),
      })),
    },
    {
      name: 'kubenode_repairs_open',
      help: 'Unfinished repairs, by rule.',
      labels: ['rule'],
      samples: tally(open, (j) => ({ rule: ruleOf(j) })),
    },
    {
      name: 'kubenode_repairs_exhausted',
      help: 'Repairs of the last day that exhausted their ladder, by rule.',
      labels: ['rule'],
      samples: tally(jobs.filter(isExhausted), (j) => ({ rule: ruleOf(j) })),
    },
    {
      name: 'kubenode_repair_oldest_waiting_seconds',
      help: 'How long the oldest repair has waited for its permit.',
      labels: [],
      samples: [{ labels: {}, value: Math.max(0, ...ages.filter((a) => !Number.isNaN(a))) }],
    },
  ]
}
