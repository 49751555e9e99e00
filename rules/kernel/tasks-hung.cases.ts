// When the rule for hanging processes fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { tasksHung } from './tasks-hung.ts'

export const rule = tasksHung

const since = (lastTransitionTime: string) => ({ type: 'TasksHung', status: 'True', lastTransitionTime }) as const

const peers = (count: number) => ({ peers: { pool: { TasksHung: { total: 20, count, unknown: 0 } } } })

export const cases: readonly RuleCase[] = [
  {
    name: 'processes that have hung for ten minutes, on this node alone',
    conditions: [since('2026-01-31T11:50:00Z')],
    facts: peers(1),
    verdict: 'fires',
  },
  {
    name: 'processes that hang for two minutes: a slow disk may still answer',
    conditions: [since('2026-01-31T11:58:00Z')],
    facts: peers(1),
    verdict: 'does not fire',
  },
  {
    name: 'half of the pool hangs: their storage is at fault',
    conditions: [since('2026-01-31T11:50:00Z')],
    facts: peers(10),
    verdict: 'does not fire',
  },
  {
    name: 'processes that hung and ended',
    conditions: [{ type: 'TasksHung', status: 'False', lastTransitionTime: '2026-01-31T11:50:00Z' }],
    facts: peers(1),
    verdict: 'does not fire',
  },
  { name: 'a node whose agent does not say', facts: peers(0), verdict: 'unknown' },
]
