// When the rule for full disks fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { diskPressure } from './disk-pressure.ts'

export const rule = diskPressure

export const cases: readonly RuleCase[] = [
  {
    name: 'a disk that has been filling up for ten minutes',
    conditions: [{ type: 'DiskPressure', status: 'True', lastTransitionTime: '2026-01-31T11:50:00Z' }],
    verdict: 'fires',
  },
  {
    name: 'a disk that filled up a minute ago: the kubelet may still free it',
    conditions: [{ type: 'DiskPressure', status: 'True', lastTransitionTime: '2026-01-31T11:59:00Z' }],
    verdict: 'does not fire',
  },
  {
    name: 'a disk with room for long',
    conditions: [{ type: 'DiskPressure', status: 'False', lastTransitionTime: '2026-01-31T08:00:00Z' }],
    verdict: 'does not fire',
  },
  {
    name: 'a clock that is ahead of ours',
    conditions: [{ type: 'DiskPressure', status: 'True', lastTransitionTime: '2026-01-31T13:00:00Z' }],
    verdict: 'unknown',
  },
]
