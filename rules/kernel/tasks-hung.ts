// Processes that hang in the kernel for minutes, as the agent sees them: a dead disk or network file system, or a driver. Only another boot ends it.
import { conditionIs, fewPeersHave } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'
import { hungNodeLadder } from './kernel-deadlock.ts'

export const tasksHung: NodeRemedierInput['spec'] = {
  when: {
    all: [
      conditionIs('TasksHung', 'True', '5m'),
      // Where many peers have it, what they share is at fault: their storage. Reboots would only take away the rest.
      fewPeersHave('TasksHung'),
    ],
  },
  priority: 20,
  ladder: hungNodeLadder('TasksHung'),
  limits: { perNodePerDay: 2, perHour: 4, maxInFlight: 1 },
}
