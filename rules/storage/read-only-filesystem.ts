// A file system that the kernel remounted read-only after an error: writes to it fail; drain the node and reboot.
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

export const readOnlyFilesystem: NodeRemedierInput['spec'] = {
  when: { all: [{ fact: 'conditions', path: '/ReadonlyFilesystem/status', operator: 'equal', value: 'True' }] },
  for: '30s',
  priority: 20,
  ladder: [
    {
      operations: [
        { collectEvidence: { kinds: ['KernelLog', 'Disks'] } },
        { cordon: {} },
        { drain: { deleteEmptyDir: true } },
        { reboot: {} },
      ],
      timeout: '45m',
      verify: { conditionCleared: 'ReadonlyFilesystem', stableFor: '10m' },
    },
    { operations: [{ replace: {} }], timeout: '1h' },
  ],
  limits: { perNodePerDay: 2, perHour: 4, maxInFlight: 2 },
}
