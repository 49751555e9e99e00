// When the rule for clocks fires, and when it must not; the component is chrony.
import type { RuleCase } from 'kubenode/rule-case'
import { timeSkew } from './time-skew.ts'

export const rule = timeSkew('chrony')

const peers = (count: number) => ({ peers: { zone: { NTPProblem: { total: 10, count, unknown: 0 } } } })

export const cases: readonly RuleCase[] = [
  {
    name: 'one clock that ran away',
    conditions: [{ type: 'NTPProblem', status: 'True' }],
    facts: peers(0),
    verdict: 'fires',
  },
  {
    name: 'a clock that is right',
    conditions: [{ type: 'NTPProblem', status: 'False' }],
    facts: peers(0),
    verdict: 'does not fire',
  },
  {
    name: 'the clocks of the zone ran away together: their server did',
    conditions: [{ type: 'NTPProblem', status: 'True' }],
    facts: peers(6),
    verdict: 'does not fire',
  },
]
