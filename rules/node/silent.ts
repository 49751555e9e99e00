// A node whose kubelet and agent are both silent: if both fail together, the machine itself is at fault. A rescue key reaches it, where its host has one, and its
// provider. Rungs of a rescue are skipped on all other hosts.
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
    { operations: [{ rescue: { timeout: '2m' } }], timeout: '10m', verify: { stableFor: '2m' }, retries: 0 },
    { operations: [{ rescueReboot: {} }], timeout: '20m', verify: { stableFor: '5m' }, retries: 0 },
    { operations: [{ reboot: { timeout: '15m' } }], timeout: '30m', verify: { stableFor: '5m' } },
    { operations: [{ replace: {} }], timeout: '1h' },
  ],
  cooldown: '15m',
  limits: { perNodePerDay: 5, perHour: 4, maxInFlight: 2 },
}
