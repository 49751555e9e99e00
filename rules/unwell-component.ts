// A component that crashed, froze or fails its probe and does not get well by itself: restart it, then install it again.
import { componentConditionType } from '#api/node-conditions.ts'
import type { NodeRemedierInput } from '#api/kinds/node-remedier.ts'

export const unwellComponent = (component: string): NodeRemedierInput['spec'] => {
  const condition = componentConditionType(component)
  return {
    when: { all: [{ fact: 'conditions', path: `/${condition}/status`, operator: 'equal', value: 'True' }] },
    for: '0s',
    ladder: [
      {
        operations: [{ restartComponent: { component } }],
        timeout: '1m',
        verify: { conditionCleared: condition, stableFor: '5s' },
      },
      {
        operations: [{ reinstallComponent: { component } }],
        timeout: '2m',
        verify: { conditionCleared: condition, stableFor: '5s' },
      },
    ],
    cooldown: '30s',
    limits: { perNodePerDay: 10, perHour: 20, maxInFlight: 1 },
  }
}
