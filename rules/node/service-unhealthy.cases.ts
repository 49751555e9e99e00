// When the rule for a hanging kubelet fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { serviceUnhealthy } from './service-unhealthy.ts'

export const rule = serviceUnhealthy('KubeletUnhealthy', 'kubelet')

export const cases: readonly RuleCase[] = [
  {
    name: 'a kubelet that does not answer',
    conditions: [{ type: 'KubeletUnhealthy', status: 'True', reason: 'KubeletUnhealthy' }],
    verdict: 'fires',
  },
  {
    name: 'a kubelet on a node that a person cordoned',
    conditions: [{ type: 'KubeletUnhealthy', status: 'True', reason: 'KubeletUnhealthy' }],
    unschedulable: true,
    verdict: 'does not fire',
  },
  {
    name: 'a kubelet that answers',
    conditions: [{ type: 'KubeletUnhealthy', status: 'False', reason: 'KubeletIsHealthy' }],
    verdict: 'does not fire',
  },
]
