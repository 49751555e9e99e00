// A file system with little room or few inodes, or with little in a few hours, before the kubelet evicts pods for it: free what is safe to free.
import { conditionIs } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'
import { SAFE_TO_FREE } from './disk-pressure.ts'

export const diskSpaceLow = (condition: 'DiskSpaceLow' | 'InodesLow' | 'DiskFillingUp'): NodeRemedierInput['spec'] => ({
  when: { all: [conditionIs(condition, 'True', '5m')] },
  // Below the rule of the kubelet's own condition: both free the same space.
  priority: -5,
  ladder: [
    {
      operations: [{ cleanDisk: SAFE_TO_FREE }],
      timeout: '15m',
      verify: { conditionCleared: condition, stableFor: '5m' },
    },
    {
      operations: [
        { collectEvidence: { kinds: ['Disks'] } },
        { cleanDisk: { ...SAFE_TO_FREE, olderThan: '24h', untilFree: 30 } },
      ],
      timeout: '30m',
      verify: { conditionCleared: condition, stableFor: '5m' },
    },
  ],
  cooldown: '1h',
  limits: { perNodePerDay: 3, perHour: 10, maxInFlight: 3 },
})
