// A clock that differs from the API server's, as the agent measures it: certificates and leases will start to fail. Restart the time service; a reboot sets the clock from the hardware.
import { conditionIs } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

/** `keeper`: the component that keeps the time. */
export const clockSkewed = (keeper: string): NodeRemedierInput['spec'] => ({
  when: {
    all: [
      conditionIs('ClockSkewed', 'True'),
      // When the peers in the zone are off as well, the fault is their time server and no repair of the node can fix it.
      { fact: 'peers', path: '/zone/ClockSkewed', operator: 'ratioBelow', value: 0.3 },
    ],
  },
  for: '3m',
  ladder: [
    {
      operations: [{ collectEvidence: { kinds: ['Journal'] } }, { restartComponent: { component: keeper } }],
      timeout: '10m',
      verify: { conditionCleared: 'ClockSkewed', stableFor: '5m' },
    },
    {
      operations: [{ cordon: {} }, { drain: { deleteEmptyDir: true } }, { reboot: {} }],
      timeout: '45m',
      verify: { conditionCleared: 'ClockSkewed', stableFor: '10m' },
    },
  ],
  limits: { perNodePerDay: 2, perHour: 5, maxInFlight: 2 },
})
