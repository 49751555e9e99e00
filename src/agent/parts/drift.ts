// The part that compares installed files and running processes with what was delivered.
import type { AllComponents } from '../components/all-components.ts'
import { AgentUnitWatch } from '../drift/agent-unit.ts'
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
  const unit = buildAgentUnit(context, report)
  return new DriftWatch({
    ...base,
    platform,
    processes: supervisor,
    workers: () => components.workers,
    tidy: async () => {
      await components.sweep()
      // The last step of leaving removes the unit.
      if (target.leaving === undefined) await unit?.inspect()
    },
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

/** A node that is a folder is started by its provider. */
function buildAgentUnit(
  { base, dir, systemctl }: PartsContext,
  report: ReturnType<typeof eventsOfMachine>,
): AgentUnitWatch | undefined {
  if (systemctl === undefined) return undefined
  return new AgentUnitWatch({
    ...base,
    dir,
    systemctl,
    onHealed: (what) =>
      report({ type: 'Warning', reason: 'FileChanged', action: 'Restore', note: `${what}; put back` }),
    onLeft: (what) => {
      const note = `${what}; it is left so until the agent restarts. To remove the agent, let the machine leave`
      report({ type: 'Warning', reason: 'DriftPersists', action: 'Restore', note })
    },
  })
}
