// When the rule for worn parts reports them, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { wornPart } from './worn-part.ts'

export const rule = wornPart('MemoryDegraded')

const since = (lastTransitionTime: string) => ({ type: 'MemoryDegraded', status: 'True', lastTransitionTime }) as const

export const cases: readonly RuleCase[] = [
  { name: 'corrected errors for half an hour', conditions: [since('2026-01-31T11:30:00Z')], verdict: 'fires' },
  { name: 'a burst a minute ago', conditions: [since('2026-01-31T11:59:00Z')], verdict: 'does not fire' },
  {
    name: 'a burst that is over',
    conditions: [{ type: 'MemoryDegraded', status: 'False', lastTransitionTime: '2026-01-31T11:00:00Z' }],
    verdict: 'does not fire',
  },
  { name: 'a node whose agent does not say', verdict: 'unknown' },
]
