// A clock that is off: certificates and leases will start to fail. Restart the time service; a reboot sets the clock from the hardware.
import { conditionIs } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

/** `keeper`: the component that keeps the time. `ClockSkewed` is what the agent measures against the API server. */
export const timeSkew = (
  keeper: string,
  condition: 'NTPProblem' | 'ClockSkewed' = 'NTPProblem',
): NodeRemedierInput['spec'] => ({
  when: {
    all: [
      conditionIs(condition, 'True'),
      // When the peers in the zone are off as well, the fault is their time server and no repair of the node can fix it.
      { fact: 'peers', path: `/zone/${condition}`, operator: 'ratioBelow', value: 0.3 },
    ],
  },
  for: '3m',
  ladder: [
    {
      operations: [{ collectEvidence: { kinds: ['Journal'] } }, { restartComponent: { component: keeper } }],
      timeout: '10m',
      verify: { conditionCleared: condition, stableFor: '5m' },
    },
    {
      operations: [{ cordon: {} }, { drain: { deleteEmptyDir: true } }, { reboot: {} }],
      timeout: '45m',
      verify: { conditionCleared: condition, stableFor: '10m' },
    },
  ],
  limits: { perNodePerDay: 2, perHour: 5, maxInFlight: 2 },
})
