// A disk that fills up: free space safely before the kubelet evicts pods. The kubelet taints the node by itself, so no new pods arrive.
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

/** Temporary files and caches; logs of containers that are closed, and dumps of programs, of which the last two stay; archived journals; unused images. */
export const SAFE_TO_FREE = {
  paths: ['/tmp', '/var/tmp', '/var/cache'],
  directories: [
    { path: '/var/log/pods', olderThan: '72h' },
    { path: '/var/lib/systemd/coredump', olderThan: '24h', keep: 2 },
    { path: '/var/crash', olderThan: '24h', keep: 2 },
  ],
  journal: true,
}

export const diskPressure: NodeRemedierInput['spec'] = {
  when: { all: [{ fact: 'conditions', path: '/DiskPressure/status', operator: 'equal', value: 'True', for: '2m' }] },
  ladder: [
    {
      operations: [{ cleanDisk: SAFE_TO_FREE }],
      timeout: '15m',
      verify: { conditionCleared: 'DiskPressure', stableFor: '5m' },
    },
    {
      operations: [
        { collectEvidence: { kinds: ['Disks'] } },
        { cleanDisk: { ...SAFE_TO_FREE, olderThan: '24h', untilFree: 30 } },
      ],
      timeout: '30m',
      verify: { conditionCleared: 'DiskPressure', stableFor: '5m' },
    },
  ],
  limits: { perNodePerDay: 3, perHour: 10, maxInFlight: 3 },
}
