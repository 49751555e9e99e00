// When the rule for container runtimes fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { runtimeUnhealthy } from './runtime-unhealthy.ts'

export const rule = runtimeUnhealthy('containerd')

export const cases: readonly RuleCase[] = [
  {
    name: 'a runtime that does not answer',
    conditions: [{ type: 'ContainerRuntimeUnhealthy', status: 'True' }],
    verdict: 'fires',
  },
  {
    name: 'a runtime on a node that a person works on',
    conditions: [{ type: 'ContainerRuntimeUnhealthy', status: 'True' }],
    unschedulable: true,
    verdict: 'does not fire',
  },
  {
    name: 'a runtime that answers',
    conditions: [{ type: 'ContainerRuntimeUnhealthy', status: 'False' }],
    verdict: 'does not fire',
  },
]
