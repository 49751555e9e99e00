// A hanging kernel does not recover: collect evidence, move what can be moved, reboot, and replace the machine if the kernel hangs again.
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'
import { hungNodeLadder } from './hung-node.ts'

export const kernelDeadlock: NodeRemedierInput['spec'] = {
  when: {
    all: [{ fact: 'conditions', path: '/KernelDeadlock/status', operator: 'equal', value: 'True' }],
  },
  // The condition stays until another boot: it does not flicker.
  for: '10s',
  priority: 25,
  ladder: hungNodeLadder('KernelDeadlock'),
  limits: { perNodePerDay: 3, perHour: 5, maxInFlight: 2 },
}
