// A kubelet that stays NotReady, or that no longer posts although its agent answers: restart it, reboot, and finally replace the machine.
import { conditionIs } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

/** Every rung once, and one of them again. */
const MOST_PER_DAY = 5

export const notReady: NodeRemedierInput['spec'] = {
  when: {
    all: [
      {
        any: [
          conditionIs('Ready', 'False', '10m'),
          {
            all: [
              conditionIs('Ready', 'Unknown', '10m'),
              // A silent agent too is another rule: the machine itself is at fault. When a network heals, the kubelet posts some seconds after the agent.
              { fact: 'machine', path: '/agentReachable', operator: 'equal', value: 'True', for: '2m' },
            ],
          },
        ],
      },
      { fact: 'unschedulable', operator: 'equal', value: false },
      // A cluster that is not well as a whole is not helped by reboots.
      { fact: 'cluster', path: '/readyPercent', operator: 'greaterThanInclusive', value: 80 },
      { fact: 'repairs', path: '/lastDay', operator: 'lessThan', value: MOST_PER_DAY },
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
      // A drain that did not end is no reason for another one.
      retries: 0,
    },
    // Without a kubelet no pod is confirmed as ended, so a drain never ends.
    { operations: [{ cordon: {} }, { reboot: { timeout: '15m' } }], verify: { stableFor: '10m' } },
    { operations: [{ replace: {} }], timeout: '1h' },
  ],
  cooldown: '15m',
  limits: { perNodePerDay: MOST_PER_DAY, perHour: 6, maxInFlight: '2%' },
}
