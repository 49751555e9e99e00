// When the rule for disks with little room fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { diskSpaceLow } from './disk-space-low.ts'

export const rule = diskSpaceLow('InodesLow')

export const cases: readonly RuleCase[] = [
  {
    name: 'few inodes for ten minutes',
    conditions: [{ type: 'InodesLow', status: 'True', lastTransitionTime: '2026-01-31T11:50:00Z' }],
    verdict: 'fires',
  },
  {
    name: 'few inodes for a minute: a build may be about to end',
    conditions: [{ type: 'InodesLow', status: 'True', lastTransitionTime: '2026-01-31T11:59:00Z' }],
    verdict: 'does not fire',
  },
  {
    name: 'enough of them again',
    conditions: [{ type: 'InodesLow', status: 'False', lastTransitionTime: '2026-01-31T11:00:00Z' }],
    verdict: 'does not fire',
  },
  { name: 'a node whose agent does not say', verdict: 'unknown' },
]
