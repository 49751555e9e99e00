// How one machine of a canary stands towards one of its components, and whether it may be picked at all.
import { renderedConfig } from '#api/kinds/component-config.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { isSwitching } from '#api/protocol/switch.ts'
import { isNodeFrozen } from '#nodeops/holds.ts'
import { isNodeReady } from '#nodeops/objects.ts'
import type { Lookup, Wanted } from './seen.ts'
import type { Node } from '#nodeops/objects.ts'

export type Standing = 'Healthy' | 'Failed' | 'Switching' | 'Waiting'

export function standingOf(machine: Machine, wanted: Wanted): Standing {
  const { name, version } = wanted
  const told = machine.spec.components?.find((c) => c.name === name)
  const report = machine.status?.components?.find((c) => c.name === name)
  if (told === undefined || report === undefined) return 'Waiting'
  if (told.switch !== undefined || isSwitching(report.state)) return 'Switching'
  // While a secret value is not to be had, what the machine was told before counts.
  const config = renderedConfig(wanted)
  if (config?.isWhole !== false && told.config !== config?.object) return 'Waiting'
  if (told.version !== version || report.desired !== version || (report.attempt ?? told.attempt) !== told.attempt)
    return 'Waiting'
  if (report.state === 'RolledBack' || report.state === 'Failed') return 'Failed'
  return report.state === 'Healthy' && report.version === version ? 'Healthy' : 'Waiting'
}

/** Only what is known to be well and idle is tried on: unknown blocks. */
export function isSound(machine: Machine, nodes: Lookup<Node>): boolean {
  const { phase, conditions = [], nodeRef, components = [] } = machine.status ?? {}
  const reachable = conditions.find((c) => c.type === 'AgentReachable')
  return (
    machine.metadata.deletionTimestamp === undefined &&
    machine.spec.channel !== 'Observe' &&
    (phase === 'Ready' || phase === 'NotReady') &&
    !isNodeFrozen(machine) &&
    (reachable === undefined || reachable.status === 'True') &&
    nodeRef !== undefined &&
    isNodeReady(nodes.get(nodeRef.name)) &&
    machine.spec.components?.some((c) => c.switch !== undefined) !== true &&
    components.every((c) => !isSwitching(c.state) && c.state !== 'Failed' && c.state !== 'Degraded')
  )
}

/** Silent agents are left alone: nothing is asked, freed or blamed. */
export const isSilent = ({ status }: Machine): boolean =>
  status?.phase === 'Lost' ||
  status?.conditions?.some((c) => c.type === 'AgentReachable' && c.status !== 'True') === true
