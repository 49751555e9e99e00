// When the rule for components that crash again and again fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { crashLooping } from './crash-looping.ts'

export const rule = crashLooping

const looping = (lastTransitionTime: string) =>
  ({ type: 'ComponentCrashLooping', status: 'True', lastTransitionTime }) as const

const peers = (count: number) => ({ peers: { pool: { ComponentCrashLooping: { total: 20, count, unknown: 0 } } } })

export const cases: readonly RuleCase[] = [
  {
    name: 'a component that has crashed for half an hour, on this node alone',
    conditions: [looping('2026-01-31T11:30:00Z')],
    facts: peers(1),
    verdict: 'fires',
  },
  {
    name: 'the first minutes, in which the rule of the component acts',
    conditions: [looping('2026-01-31T11:55:00Z')],
    facts: peers(1),
    verdict: 'does not fire',
  },
  {
    name: 'a version that crashes on all of them',
    conditions: [looping('2026-01-31T11:30:00Z')],
    facts: peers(16),
    verdict: 'does not fire',
  },
  {
    name: 'components that have been up for a while',
    conditions: [{ type: 'ComponentCrashLooping', status: 'False', lastTransitionTime: '2026-01-31T11:30:00Z' }],
    facts: peers(1),
    verdict: 'does not fire',
  },
  { name: 'a node whose agent does not say', facts: peers(0), verdict: 'unknown' },
]
