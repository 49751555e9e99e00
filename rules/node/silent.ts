// A node whose kubelet and agent are both silent: if both fail together, the machine itself is at fault. Only its provider can reach it.
import { conditionIs } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

export const silentNode: NodeRemedierInput['spec'] = {
  when: {
    all: [
      conditionIs('Ready', 'Unknown', '5m'),
      { fact: 'machine', path: '/agentReachable', operator: 'equal', value: 'False' },
      { fact: 'cluster', path: '/silent', operator: 'lessThanInclusive', value: 5 },
    ],
  },
  priority: 5,
  ladder: [
    { operations: [{ reboot: { timeout: '15m' } }], timeout: '30m', verify: { stableFor: '5m' } },
    { operations: [{ replace: {} }], timeout: '1h' },
  ],
  cooldown: '15m',
  limits: { perNodePerDay: 3, perHour: 4, maxInFlight: 2 },
}
