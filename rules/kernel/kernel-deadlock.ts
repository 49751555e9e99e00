// A kernel that hangs does not heal by itself: keep the evidence, reboot, and replace the machine when it comes back hanging.
import type { NodeRemedierInput } from '#api/kinds/node-remedier.ts'

export const kernelDeadlock: NodeRemedierInput['spec'] = {
  when: {
    all: [{ fact: 'conditions', path: '/KernelDeadlock/status', operator: 'equal', value: 'True' }],
  },
  for: '30s',
  ladder: [
    {
      operations: [{ collectEvidence: { kinds: ['KernelLog', 'Processes'] } }, { cordon: {} }, { reboot: {} }],
      verify: { conditionCleared: 'KernelDeadlock', stableFor: '10m' },
    },
    { operations: [{ replace: {} }], timeout: '1h' },
  ],
  limits: { perNodePerDay: 2, perHour: 5, maxInFlight: 2 },
}
