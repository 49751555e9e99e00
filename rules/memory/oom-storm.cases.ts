// When the rule for storms of OOM kills fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { oomStorm } from './oom-storm.ts'

export const rule = oomStorm

const alone = { peers: { pool: { FrequentOOMKill: { total: 20, count: 1, unknown: 0 } } } }
const many = { peers: { pool: { FrequentOOMKill: { total: 20, count: 9, unknown: 0 } } } }
const since = (lastTransitionTime: string) => [{ type: 'FrequentOOMKill', status: 'True', lastTransitionTime }] as const

export const cases: readonly RuleCase[] = [
  {
    name: 'a storm of ten minutes on one node',
    conditions: since('2026-01-31T11:50:00Z'),
    facts: alone,
    verdict: 'fires',
  },
  {
    name: 'a storm that began a minute ago may pass',
    conditions: since('2026-01-31T11:59:00Z'),
    facts: alone,
    verdict: 'does not fire',
  },
  {
    name: 'a node whose storm is over',
    conditions: [{ type: 'FrequentOOMKill', status: 'False', lastTransitionTime: '2026-01-31T11:00:00Z' }],
    facts: alone,
    verdict: 'does not fire',
  },
  {
    name: 'a storm on half of the pool: a workload is to blame',
    conditions: since('2026-01-31T11:50:00Z'),
    facts: many,
    verdict: 'does not fire',
  },
  { name: 'nobody knows of the peers', conditions: since('2026-01-31T11:50:00Z'), verdict: 'unknown' },
]
