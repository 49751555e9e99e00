// A disk that fills up: free space safely before the kubelet evicts pods. The kubelet taints the node by itself, so no new pods arrive.
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

export const diskPressure: NodeRemedierInput['spec'] = {
  when: { all: [{ fact: 'conditions', path: '/DiskPressure/status', operator: 'equal', value: 'True', for: '2m' }] },
  ladder: [
    { operations: [{ cleanDisk: {} }], timeout: '15m', verify: { conditionCleared: 'DiskPressure', stableFor: '5m' } },
    {
      operations: [{ collectEvidence: { kinds: ['Disks'] } }, { cleanDisk: { olderThan: '24h', untilFree: 30 } }],
      timeout: '30m',
      verify: { conditionCleared: 'DiskPressure', stableFor: '5m' },
    },
  ],
  limits: { perNodePerDay: 3, perHour: 10, maxInFlight: 3 },
}
