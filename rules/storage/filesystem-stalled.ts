// A file system that does not answer: every process that uses it hangs. Where many peers have it, their server is away and no reboot helps.
import { conditionIs, fewPeersHave } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'
import { hungNodeLadder } from '../kernel/kernel-deadlock.ts'

export const filesystemStalled: NodeRemedierInput['spec'] = {
  when: {
    all: [conditionIs('FilesystemStalled', 'True', '10m'), fewPeersHave('FilesystemStalled', 0.1)],
  },
  priority: 18,
  ladder: hungNodeLadder('FilesystemStalled'),
  limits: { perNodePerDay: 2, perHour: 4, maxInFlight: 1 },
}
