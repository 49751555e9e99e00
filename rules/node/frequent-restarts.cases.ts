// When the rule for a service that restarts again and again fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { frequentRestarts } from './frequent-restarts.ts'

export const rule = frequentRestarts('FrequentContainerdRestart', 'containerd')

export const cases: readonly RuleCase[] = [
  {
    name: 'a containerd that restarts all the time',
    conditions: [{ type: 'FrequentContainerdRestart', status: 'True', reason: 'FrequentContainerdRestart' }],
    verdict: 'fires',
  },
  {
    name: 'a containerd that stays up',
    conditions: [{ type: 'FrequentContainerdRestart', status: 'False', reason: 'NoFrequentContainerdRestart' }],
    verdict: 'does not fire',
  },
]
