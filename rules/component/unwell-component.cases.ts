// When the rule for an unhealthy component fires, and when it must not; the component is beacon.
import type { RuleCase } from 'kubenode/rule-case'
import { unwellComponent } from './unwell-component.ts'

export const rule = unwellComponent('beacon')

export const cases: readonly RuleCase[] = [
  {
    name: 'a beacon that crashed',
    conditions: [{ type: 'ComponentUnhealthy-beacon', status: 'True', reason: 'ComponentCrashed' }],
    verdict: 'fires',
  },
  {
    name: 'a beacon that was stopped by a signal',
    conditions: [{ type: 'ComponentUnhealthy-beacon', status: 'True', reason: 'ComponentFrozen' }],
    verdict: 'fires',
  },
  {
    name: 'a beacon of which no version can be run: a restart cannot help',
    conditions: [{ type: 'ComponentUnhealthy-beacon', status: 'True', reason: 'ComponentFailed' }],
    verdict: 'does not fire',
  },
  {
    name: 'a beacon that is well again',
    conditions: [{ type: 'ComponentUnhealthy-beacon', status: 'False', reason: 'ComponentHealthy' }],
    verdict: 'does not fire',
  },
  {
    name: 'another component that crashed',
    conditions: [
      { type: 'ComponentUnhealthy-beacon', status: 'False', reason: 'ComponentHealthy' },
      { type: 'ComponentUnhealthy-scribe', status: 'True', reason: 'ComponentCrashed' },
    ],
    verdict: 'does not fire',
  },
  {
    name: 'a node whose agent never spoke of a beacon',
    conditions: [{ type: 'Ready', status: 'True' }],
    verdict: 'unknown',
  },
]
