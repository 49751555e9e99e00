// A hanging kernel does not recover: collect evidence, reboot, and replace the machine if the kernel hangs again.
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

export const kernelDeadlock: NodeRemedierInput['spec'] = {
  when: {
    all: [{ fact: 'conditions', path: '/KernelDeadlock/status', operator: 'equal', value: 'True' }],
  },
  // The condition stays until another boot: it does not flicker.
  for: '10s',
  ladder: [
    {
      operations: [
        { collectEvidence: { kinds: ['KernelLog', 'Processes'] } },
        { cordon: {} },
        // What hangs in the kernel hangs in the shutdown too. Machines that boot for minutes want a longer time here, or they begin their boot twice.
        { reboot: { takeOverAfter: '60s' } },
      ],
      // The kernel's words are read as they come. A hang that returns later is the same incident, and its next rung.
      verify: { conditionCleared: 'KernelDeadlock', stableFor: '60s' },
    },
    { operations: [{ replace: {} }], timeout: '1h' },
  ],
  limits: { perNodePerDay: 2, perHour: 5, maxInFlight: 2 },
}
