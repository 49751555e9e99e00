// A kubelet, or another service of a node, that runs but no longer answers: restart it, unless someone is working on the node.
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

/** Condition types as the node problem detector's health checkers name them. */
export const serviceUnhealthy = (condition: string, component: string): NodeRemedierInput['spec'] => ({
  when: {
    all: [
      { fact: 'conditions', path: `/${condition}/status`, operator: 'equal', value: 'True' },
      { fact: 'unschedulable', operator: 'equal', value: false },
    ],
  },
  for: '30s',
  priority: 10,
  ladder: [
    {
      operations: [{ collectEvidence: { kinds: ['Journal', 'Processes'] } }, { restartComponent: { component } }],
      timeout: '10m',
      verify: { conditionCleared: condition, stableFor: '5m' },
    },
    {
      operations: [{ cordon: {} }, { reboot: {} }],
      timeout: '20m',
      verify: { conditionCleared: condition, stableFor: '10m' },
    },
  ],
  limits: { perNodePerDay: 3, perHour: 10, maxInFlight: 3 },
})
