// A service that restarts repeatedly: its installation or its state is broken, and another restart does not help.
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

export const frequentRestarts = (condition: string, component: string): NodeRemedierInput['spec'] => ({
  when: { all: [{ fact: 'conditions', path: `/${condition}/status`, operator: 'equal', value: 'True' }] },
  for: '1m',
  ladder: [
    {
      operations: [{ collectEvidence: { kinds: ['Journal', 'Components'] } }, { reinstallComponent: { component } }],
      timeout: '15m',
      verify: { conditionCleared: condition, stableFor: '20m' },
    },
    {
      operations: [{ cordon: {} }, { drain: { deleteEmptyDir: true } }, { reboot: {} }],
      timeout: '45m',
      verify: { conditionCleared: condition, stableFor: '20m' },
    },
  ],
  limits: { perNodePerDay: 2, perHour: 5, maxInFlight: 2 },
})
