// A kubelet that stays NotReady while its agent is healthy: restart it, reboot, and finally replace the machine.
import { conditionIs } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

export const notReady: NodeRemedierInput['spec'] = {
  when: {
    all: [
      conditionIs('Ready', 'False', '10m'),
      { fact: 'unschedulable', operator: 'equal', value: false },
      // A cluster that is not well as a whole is not helped by reboots.
      { fact: 'cluster', path: '/readyPercent', operator: 'greaterThanInclusive', value: 80 },
      { fact: 'repairs', path: '/lastDay', operator: 'lessThan', value: 4 },
    ],
  },
  priority: -10,
  ladder: [
    {
      operations: [
        { collectEvidence: { kinds: ['Journal', 'Components'] } },
        { restartComponent: { component: 'kubelet' } },
      ],
      timeout: '10m',
      verify: { stableFor: '5m' },
    },
    {
      operations: [{ cordon: {} }, { drain: { deleteEmptyDir: true } }, { reboot: { timeout: '15m' } }],
      timeout: '1h',
      verify: { stableFor: '10m' },
    },
    { operations: [{ replace: {} }], timeout: '1h' },
  ],
  cooldown: '15m',
  limits: { perNodePerDay: 4, perHour: 6, maxInFlight: '2%' },
}
