// The part that compares installed files and running processes with what was delivered.
import type { AllComponents } from '../components/all-components.ts'
import { DriftWatch } from '../drift/drift-watch.ts'
import { RunningPrograms } from '../drift/running.ts'
import { watchFolder } from '../files/folder-watch.ts'
import { KUBELET, kubeletFinding } from '../node/deleted-node.ts'
import type { Processes } from '../supervise/port.ts'
import type { PartsContext } from './context.ts'
import { eventsOfMachine } from './machine-events.ts'

export interface DriftNeeds {
  readonly supervisor: Processes
  readonly components: AllComponents
}

export function buildDrift(context: PartsContext, { supervisor, components }: DriftNeeds): DriftWatch {
  const { base, dir, platform, target } = context
  const report = eventsOfMachine(context)
  const running = new RunningPrograms(dir)
  return new DriftWatch({
    ...base,
    platform,
    processes: supervisor,
    workers: () => components.workers,
    tidy: () => components.sweep(),
    watchFolder,
    // A change that is undone within a second must be logged: the user who made it will search for the reason.
    onHealed: (component, what) =>
      report({ type: 'Warning', reason: 'FileChanged', action: 'Restore', note: `${component}: ${what}; restored` }),
    onLeft: (component, what) => {
      const note = `${component}: ${what}, again and again; it is left so until the next switch`
      report({ type: 'Warning', reason: 'DriftPersists', action: 'Restore', note })
    },
    inspectRunning: async (inUse) => {
      const pid = supervisor.main?.(inUse.component)
      const ofNode = inUse.component === KUBELET ? kubeletFinding(target.deletedNode, pid) : []
      return [...ofNode, ...(await running.inspect(inUse, pid))]
    },
  })
}
