// When the rule for broken parts takes a machine away, and when it must not act.
import type { RuleCase } from 'kubenode/rule-case'
import { brokenPart } from './broken-part.ts'

export const rule = brokenPart('MemoryFaulty')

const peers = (count: number) => ({ peers: { pool: { MemoryFaulty: { total: 20, count, unknown: 0 } } } })

export const cases: readonly RuleCase[] = [
  {
    name: 'one node of the pool has it',
    conditions: [{ type: 'MemoryFaulty', status: 'True' }],
    facts: peers(1),
    verdict: 'fires',
  },
  {
    name: 'half of the pool has it: the cause is shared, or the detector is wrong',
    conditions: [{ type: 'MemoryFaulty', status: 'True' }],
    facts: peers(10),
    verdict: 'does not fire',
  },
  {
    name: 'it is over',
    conditions: [{ type: 'MemoryFaulty', status: 'False' }],
    facts: peers(0),
    verdict: 'does not fire',
  },
  {
    name: 'nobody can tell',
    conditions: [{ type: 'MemoryFaulty', status: 'Unknown' }],
    facts: peers(0),
    verdict: 'unknown',
  },
]
