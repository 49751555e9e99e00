// When the rule for broken parts takes a machine away, and when it must not act.
import type { RuleCase } from 'kubenode/rule-case'
import { brokenPart } from './broken-part.ts'

export const rule = brokenPart('MemoryFaulty')

/** Of a rule that acts on a part of one node, and never on what half of the pool reports. */
export function partCases(type: string): readonly RuleCase[] {
  const peers = (count: number) => ({ peers: { pool: { [type]: { total: 20, count, unknown: 0 } } } })
  return [
    {
      name: 'one node of the pool has it',
      conditions: [{ type, status: 'True' }],
      facts: peers(1),
      verdict: 'fires',
    },
    {
      name: 'half of the pool has it: the cause is shared, or the detector is wrong',
      conditions: [{ type, status: 'True' }],
      facts: peers(10),
      verdict: 'does not fire',
    },
    {
      name: 'it is over',
      conditions: [{ type, status: 'False' }],
      facts: peers(0),
      verdict: 'does not fire',
    },
    {
      name: 'nobody can tell',
      conditions: [{ type, status: 'Unknown' }],
      facts: peers(0),
      verdict: 'unknown',
    },
  ]
}

export const cases = partCases('MemoryFaulty')
