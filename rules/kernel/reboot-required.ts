// The distribution asks for a reboot: packages installed a new kernel or replaced a library that runs. Drain and reboot, one node at a time.
import { conditionIs } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

/** No guard by peers: where packages update themselves, all nodes of a pool ask at once. The limits, budgets and windows of the Defender pace them. */
export const rebootRequired: NodeRemedierInput['spec'] = {
  when: { all: [conditionIs('RebootRequired', 'True', '10m')] },
  // Any fault of the node goes first.
  priority: -10,
  ladder: [
    {
      operations: [{ cordon: {} }, { drain: { deleteEmptyDir: true, timeout: '35m', podWait: '20m' } }, { reboot: {} }],
      timeout: '1h',
      verify: { conditionCleared: 'RebootRequired', stableFor: '2m' },
    },
  ],
  limits: { perNodePerDay: 1, perHour: 4, maxInFlight: 1 },
}
