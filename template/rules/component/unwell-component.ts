// A component that crashed, froze or fails its probe and does not recover: restart it, then reinstall it.
import { componentConditionType } from 'kubenode/node-conditions'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

export const unwellComponent = (component: string): NodeRemedierInput['spec'] => {
  const condition = componentConditionType(component)
  return {
    when: {
      all: [
        { fact: 'conditions', path: `/${condition}/status`, operator: 'equal', value: 'True' },
        // No version can be run: neither a restart nor an installation helps. The Machine reports it to users.
        { fact: 'conditions', path: `/${condition}/reason`, operator: 'notEqual', value: 'ComponentFailed' },
      ],
    },
    for: '0s',
    ladder: [
      {
        operations: [{ restartComponent: { component } }],
        timeout: '1m',
        verify: { conditionCleared: condition, stableFor: '3s' },
      },
      {
        operations: [{ reinstallComponent: { component } }],
        timeout: '2m',
        verify: { conditionCleared: condition, stableFor: '3s' },
      },
    ],
    cooldown: '10s',
    limits: { perNodePerDay: 20, perHour: 40, perDay: 100, maxInFlight: 2 },
    relapseWindow: '10m',
  }
}
