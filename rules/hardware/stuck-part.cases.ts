// When the rule for devices that are stuck reboots, and when it must not act.
import type { RuleCase } from 'kubenode/rule-case'
import { stuckPart } from './stuck-part.ts'

export const rule = stuckPart('GPUNeedsReset')

const peers = (count: number) => ({ peers: { pool: { GPUNeedsReset: { total: 20, count, unknown: 0 } } } })

export const cases: readonly RuleCase[] = [
  {
    name: 'one node of the pool has it',
    conditions: [{ type: 'GPUNeedsReset', status: 'True' }],
    facts: peers(1),
    verdict: 'fires',
  },
  {
    name: 'half of the pool has it: the cause is shared, or the detector is wrong',
    conditions: [{ type: 'GPUNeedsReset', status: 'True' }],
    facts: peers(10),
    verdict: 'does not fire',
  },
  {
    name: 'it is over',
    conditions: [{ type: 'GPUNeedsReset', status: 'False' }],
    facts: peers(0),
    verdict: 'does not fire',
  },
  {
    name: 'nobody can tell',
    conditions: [{ type: 'GPUNeedsReset', status: 'Unknown' }],
    facts: peers(0),
    verdict: 'unknown',
  },
]
