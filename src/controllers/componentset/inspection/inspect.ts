// Decides whether the inspections of a step pass. An inspection that cannot be read, or has not run yet, does not pass.
import { isNodeReady, type Node } from '#nodes/objects.ts'
import type { Lookup } from '../members/lookup.ts'
import { type Abilities, type Inspection, NO_ABILITIES, isRemote, resultKey } from './inspections.ts'
import { podResult } from './pod-probe.ts'
import type { Problem } from '#nodes/placement/problem.ts'
import { type Reading, isLost } from '../members/reading.ts'
import type { Rollout, Seen, Slice } from '../seen.ts'

export type { Inspection } from './inspections.ts'

/** A step without declared inspections still gets these. */
const BUILT_IN: readonly Inspection[] = [
  { name: 'node-ready', nodeReady: {}, timeout: '5m' },
  { name: 'components-healthy', componentsHealthy: {}, timeout: '5m' },
]

export const inspectionsOf = ({ inspections }: Rollout): readonly Inspection[] =>
  inspections === undefined || inspections.length === 0 ? BUILT_IN : inspections

/** An inspection that this controller cannot run must not be skipped silently. */
export function unsupportedInspection(rollout: Rollout, can: Abilities = NO_ABILITIES): Problem | undefined {
  for (const { name, http, prometheus, podProbe } of rollout.inspections ?? []) {
    if (prometheus !== undefined && !can.prometheus)
      return unsupported(name, 'queries Prometheus, but the controllers run without --prometheus-url')
    if (http !== undefined && !can.http) return unsupported(name, 'uses HTTP, which is disabled here')
    if (podProbe !== undefined && !can.podProbe) return unsupported(name, 'starts a pod, which is not supported here')
  }
  return undefined
}

const unsupported = (name: string, why: string): Problem => ({
  reason: 'UnsupportedField',
  message: `inspection ${name} ${why}; use another kind of inspection, or enable it in the controllers`,
})

export interface Finding {
  readonly inspection: Inspection
  readonly seen: string
  /** A first look is under way, or it would pass without the recently silent machines. So it does not pass now, but fails no machine yet. */
  readonly isUndecided?: boolean
}

export interface Inspected {
  /** A slice of the step. All slices of a step have the same version. */
  readonly slice: Slice
  readonly machines: readonly Reading[]
  readonly nodes: Lookup<Node>
  readonly inspectionResults: Seen['inspectionResults']
  readonly pendingInspections: Seen['pendingInspections']
  readonly pods: Seen['probePods']
  /** Machines that may fail for unrelated reasons. */
  readonly slack: number
  readonly now: number
}

/** The first inspection that does not pass. Without a machine that runs the version there is nothing to inspect. */
export function firstFinding(inspections: readonly Inspection[], inspected: Inspected): Finding | undefined {
  const [first] = inspections
  if (first !== undefined && inspected.machines.length === 0)
    return { inspection: first, seen: 'no machine of the step runs the version now', isUndecided: true }
  for (const inspection of inspections) {
    const wrong = isOfStep(inspection) ? wrongWithStep(inspection, inspected) : wrongWithMachines(inspection, inspected)
    if (wrong !== undefined) return { inspection, ...wrong }
  }
  return undefined
}

const isOfStep = (i: Inspection): boolean => isRemote(i) || i.podProbe !== undefined

type Wrong = Omit<Finding, 'inspection'>

function wrongWithStep(
  inspection: Inspection,
  { slice, inspectionResults, pendingInspections, pods }: Inspected,
): Wrong | undefined {
  const result =
    inspection.podProbe === undefined
      ? inspectionResults?.get(resultKey(slice, inspection))
      : podResult(slice, inspection, pods)
  // After a restart no check has run yet: the time before it does not count.
  if (result === undefined)
    return { seen: 'check is running', isUndecided: pendingInspections?.has(resultKey(slice, inspection)) === true }
  return result.holds ? undefined : { seen: result.seen }
}

function wrongWithMachines(
  inspection: Inspection,
  { slice: { component }, machines, nodes, slack, now }: Inspected,
): Wrong | undefined {
  const wrongOn = (m: Reading) => wrongWith(inspection, m, { nodes, component })
  const bad = machines.filter((m) => wrongOn(m) !== undefined)
  const [first] = bad
  // A step in which no machine is well proves nothing, however many failures are allowed.
  const isTolerable = (count: number) => count <= slack && count < machines.length
  if (first === undefined || isTolerable(bad.length)) return undefined
  const more = bad.length === 1 ? '' : ` (and on ${bad.length - 1} more)`
  const isUndecided = isTolerable(bad.filter((m) => m.health !== 'Silent' || isLost(m, now)).length)
  return { seen: `failed on ${first.name}: ${wrongOn(first) ?? ''}${more}`, isUndecided }
}

/** Why the inspection does not pass on one machine, in the reporter's words. */
function wrongWith(
  inspection: Inspection,
  { machine, node: read, health, hasBad }: Reading,
  { nodes, component }: { readonly nodes: Lookup<Node>; readonly component: string },
): string | undefined {
  if (health === 'Silent') return 'no heartbeat from its agent'
  const ref = machine.status?.nodeRef
  const nodeOf = () => read ?? (ref && nodes.get(ref.name))
  if (inspection.nodeReady !== undefined) {
    if (health === 'Up') return undefined
    const node = nodeOf()
    return isNodeReady(node) ? undefined : notReady(node)
  }
  if (inspection.componentsHealthy !== undefined) {
    const { components } = machine.status ?? {}
    if (components === undefined) return 'its agent has reported no components'
    if (!hasBad) return undefined
    // A component becomes Failed only through a switch of its own. Another failed component counts against its own version.
    const bad = components.find((c) => c.state === 'Degraded' || (c.state === 'Failed' && c.name === component))
    return bad && withMessage(`component ${bad.name} is ${bad.state}`, bad.message)
  }
  if (inspection.conditionAbsent !== undefined) {
    const { type, status } = inspection.conditionAbsent
    const node = nodeOf()
    if (node === undefined) return 'its Node does not exist'
    const there = node.status?.conditions?.find((c) => c.type === type && c.status === status)
    return there && withMessage(`condition ${type} is ${status}`, there.message)
  }
  return 'not supported by these controllers'
}

function notReady(node: Node | undefined): string {
  if (node === undefined) return 'its Node does not exist'
  const ready = node.status?.conditions?.find((c) => c.type === 'Ready')
  return withMessage('its Node is not Ready', ready?.message)
}

const withMessage = (what: string, message = ''): string => (message === '' ? what : `${what}: ${message}`)
