// A file system that the kernel remounted read-only after an error: writes to it fail; drain the node and reboot.
import { conditionIs } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

/** `ReadonlyFilesystem` is what the kernel's log says, `FilesystemReadOnly` what the agent finds mounted. */
export const readOnlyFilesystem = (
  condition: 'ReadonlyFilesystem' | 'FilesystemReadOnly',
): NodeRemedierInput['spec'] => ({
  when: { all: [conditionIs(condition, 'True')] },
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
      verify: { conditionCleared: condition, stableFor: '10m' },
    },
    { operations: [{ replace: {} }], timeout: '1h' },
  ],
  limits: { perNodePerDay: 2, perHour: 4, maxInFlight: 2 },
})
