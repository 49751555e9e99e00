// When the rule for file systems that do not answer fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { filesystemStalled } from './filesystem-stalled.ts'

export const rule = filesystemStalled

const since = (lastTransitionTime: string) =>
  ({ type: 'FilesystemStalled', status: 'True', lastTransitionTime }) as const

const peers = (count: number) => ({ peers: { pool: { FilesystemStalled: { total: 20, count, unknown: 0 } } } })

export const cases: readonly RuleCase[] = [
  {
    name: 'this node alone, for a quarter of an hour',
    conditions: [since('2026-01-31T11:45:00Z')],
    facts: peers(1),
    verdict: 'fires',
  },
  {
    name: 'for two minutes: the server may be about to come back',
    conditions: [since('2026-01-31T11:58:00Z')],
    facts: peers(1),
    verdict: 'does not fire',
  },
  {
    name: 'a fifth of the pool: the server is away',
    conditions: [since('2026-01-31T11:45:00Z')],
    facts: peers(4),
    verdict: 'does not fire',
  },
  {
    name: 'it answers again',
    conditions: [{ type: 'FilesystemStalled', status: 'False', lastTransitionTime: '2026-01-31T11:00:00Z' }],
    facts: peers(0),
    verdict: 'does not fire',
  },
  { name: 'a node whose agent does not say', facts: peers(0), verdict: 'unknown' },
]
