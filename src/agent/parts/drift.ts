// The part that compares what is installed and what runs with what was delivered.
import type { AllComponents } from '../components/all-components.ts'
import { DriftWatch } from '../drift/drift-watch.ts'
import { RunningPrograms } from '../drift/running.ts'
import { watchFolder } from '../files/folder-watch.ts'
import { KUBELET, kubeletFinding } from '../node/deleted-node.ts'
import type { Processes } from '../supervise/port.ts'
import type { Ground } from './ground.ts'

export interface DriftNeeds {
  readonly supervisor: Processes
  readonly components: AllComponents
}

export function buildDrift(
  { base, dir, platform, target }: Ground,
  { supervisor, components }: DriftNeeds,
): DriftWatch {
  const running = new RunningPrograms(dir)
  return new DriftWatch({
    ...base,
    platform,
    processes: supervisor,
    workers: () => components.workers,
    tidy: () => components.sweep(),
    watchFolder,
    lookAtRunning: async (inUse) => {
      const pid = supervisor.main?.(inUse.component)
      const ofNode = inUse.component === KUBELET ? kubeletFinding(target.deletedNode, pid) : []
      return [...ofNode, ...(await running.look(inUse, pid))]
    },
  })
}
