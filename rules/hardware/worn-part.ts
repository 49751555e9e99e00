// A part of the host that still works but needs a check: tell the provider. Nothing on the node changes.
import { conditionIs } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

export type WornPart = 'MemoryDegraded' | 'StorageDegraded' | 'HardwareAlarm'

const CATEGORY = { MemoryDegraded: 'Memory', StorageDegraded: 'Disk', HardwareAlarm: 'Power' } as const

export const wornPart = (condition: WornPart): NodeRemedierInput['spec'] => ({
  when: { all: [conditionIs(condition, 'True', '10m')] },
  priority: -8,
  ladder: [
    {
      operations: [
        { collectEvidence: { kinds: ['KernelLog', 'Disks'] } },
        { reportFault: { category: CATEGORY[condition] } },
      ],
      timeout: '15m',
    },
  ],
  cooldown: '24h',
  limits: { perNodePerDay: 1, perHour: 10, maxInFlight: 5 },
})
