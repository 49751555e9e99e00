// The state of one machine for one component of a canary, and whether the machine may be picked.
import { declaredTarget, renderedConfig, type DeclaredComponent } from '#api/kinds/component-config.ts'
import { defined } from '#lib/defined.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { hasOpenSwitch, isOrderFor, isSwitchOpen } from '#api/protocol/component-order.ts'
import { isSwitching } from '#api/protocol/switch.ts'
import { isNodeFrozen } from '#permits/holds/in-force.ts'
import { TAINTS } from '#api/names.ts'
import { hasTaint, isNodeReady } from '#nodes/objects.ts'
import { holdOver, holdTargetsOfMachine } from '#permits/holds/reach.ts'
import type { Lookup, Seen } from '../seen.ts'
import type { Node } from '#nodes/objects.ts'

export type Standing = 'Healthy' | 'Failed' | 'Switching' | 'Waiting'

export function standingOf(machine: Machine, wanted: DeclaredComponent): Standing {
  const { name } = wanted
  const order = machine.spec.components?.find((c) => c.name === name)
  const report = machine.status?.components?.find((c) => c.name === name)
  if (order === undefined || report === undefined) return 'Waiting'
  if (isSwitchOpen(order, report) || isSwitching(report.state)) return 'Switching'
  // While a secret value is unavailable, the configuration already assigned to the machine counts.
  const isWhole = renderedConfig(wanted)?.isWhole !== false
  const { version } = wanted
  const target = isWhole ? declaredTarget(wanted) : { name, version, ...defined({ config: order.config }) }
  if (!isOrderFor(order, target) || report.desired !== version || (report.attempt ?? order.attempt) !== order.attempt)
    return 'Waiting'
  if (report.state === 'RolledBack' || report.state === 'Failed') return 'Failed'
  return report.state === 'Healthy' && report.version === version ? 'Healthy' : 'Waiting'
}

/** A trial starts only on machines known to be healthy and idle. Unknown blocks. */
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
    !hasTaint(nodes.get(nodeRef.name), TAINTS.componentsPending) &&
    !hasOpenSwitch(machine) &&
    components.every((c) => !isSwitching(c.state) && c.state !== 'Failed' && c.state !== 'Degraded')
  )
}

/** A hold on the machine, its Node or its MachineSet. No order would reach the machine, and its part of the canary would wait as long. */
export function isHeldMachine(
  { holds, nodes, machineSets }: Pick<Seen, 'holds' | 'nodes' | 'machineSets'>,
  machine: Machine,
  now: number,
): boolean {
  if (holds.length === 0) return false
  const node = nodes.get(machine.status?.nodeRef?.name ?? '')
  const targets = holdTargetsOfMachine(machine, { node, machineSet: (name) => machineSets?.get(name) })
  return holdOver(holds, { effects: ['Pause', 'Freeze'], targets, now }) !== undefined
}

/** Leave silent machines alone: no requests, no releases, no blame. */
export const isSilent = ({ status }: Machine): boolean =>
  status?.phase === 'Lost' ||
  status?.conditions?.some((c) => c.type === 'AgentReachable' && c.status !== 'True') === true
