// When the rule for a clock that differs from the API server's fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { clockSkewed } from './clock-skewed.ts'

export const rule = clockSkewed('chrony')

const peers = (count: number) => ({ peers: { zone: { ClockSkewed: { total: 20, count, unknown: 0 } } } })

export const cases: readonly RuleCase[] = [
  {
    name: 'a clock that is off, on this node alone',
    conditions: [{ type: 'ClockSkewed', status: 'True' }],
    facts: peers(2),
    verdict: 'fires',
  },
  {
    name: 'the clocks of the zone are off: their time server is, or the API server',
    conditions: [{ type: 'ClockSkewed', status: 'True' }],
    facts: peers(18),
    verdict: 'does not fire',
  },
  {
    name: 'a clock in time',
    conditions: [{ type: 'ClockSkewed', status: 'False' }],
    facts: peers(0),
    verdict: 'does not fire',
  },
]
