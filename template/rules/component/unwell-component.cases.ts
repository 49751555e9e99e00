// When the rule for an unhealthy component fires, and when it must not; the component is hello.
import type { RuleCase } from 'kubenode/rule-case'
import { unwellComponent } from './unwell-component.ts'

export const rule = unwellComponent('hello')

export const cases: readonly RuleCase[] = [
  {
    name: 'a hello that crashed',
    conditions: [{ type: 'ComponentUnhealthy-hello', status: 'True', reason: 'ComponentCrashed' }],
    verdict: 'fires',
  },
  {
    name: 'a hello that was stopped by a signal',
    conditions: [{ type: 'ComponentUnhealthy-hello', status: 'True', reason: 'ComponentFrozen' }],
    verdict: 'fires',
  },
  {
    name: 'a hello of which no version can be run: a restart cannot help',
    conditions: [{ type: 'ComponentUnhealthy-hello', status: 'True', reason: 'ComponentFailed' }],
    verdict: 'does not fire',
  },
  {
    name: 'a hello that is well again',
    conditions: [{ type: 'ComponentUnhealthy-hello', status: 'False', reason: 'ComponentHealthy' }],
    verdict: 'does not fire',
  },
  {
    name: 'another component that crashed',
    conditions: [
      { type: 'ComponentUnhealthy-hello', status: 'False', reason: 'ComponentHealthy' },
      { type: 'ComponentUnhealthy-other', status: 'True', reason: 'ComponentCrashed' },
    ],
    verdict: 'does not fire',
  },
  {
    name: 'a node whose agent never spoke of a hello',
    conditions: [{ type: 'Ready', status: 'True' }],
    verdict: 'unknown',
  },
]
