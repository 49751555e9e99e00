// The state of one machine for a rollout: whether it may be disrupted, its orders and its reports. A missing reading counts against a disruption.
import type { Reason } from '#api/catalogue.ts'
import { TAINTS } from '#api/names.ts'
import type { ComponentOrder, ComponentStatus, Machine } from '#api/kinds/machine.ts'
import { RETURNS_WITHIN_MS, rebooting } from '#api/protocol/rebooting.ts'
import { type ComponentState, isSwitching } from '#api/protocol/switch.ts'
import { assertNever } from '#lib/errors.ts'
import { isNodeFrozen } from '#permits/holds/in-force.ts'
import type { Node } from '#nodes/objects.ts'
import { placeOf } from '#nodes/placement/spread.ts'
import { hardwareClass } from '#nodes/placement/hardware-class.ts'
import { hasTaint, isNodeReady } from '#nodes/objects.ts'
import {
  type ComponentTarget,
  hasOpenSwitch,
  isOrderFor,
  isSameTarget,
  isSwitchOpen,
} from '#api/protocol/component-order.ts'

/** Up may be disrupted. Joining has never worked yet. Broken has its own problem. Silent sends no heartbeats. Leaving is being deleted. */
type Health = 'Up' | 'Joining' | 'Broken' | 'Silent' | 'Leaving'

export interface Reading {
  readonly machine: Machine
  readonly node: Node | undefined
  readonly name: string
  readonly uid: string
  readonly health: Health
  readonly why: string
  /** Silent because no agent ever sent a heartbeat. */
  readonly isAwaited: boolean
  readonly class: string
  /** All its domains in one string. */
  readonly place: string
  /** Every running component with its version, one line each. The same on most machines. */
  readonly runs: string
  /** Components that are the machine's only problem. A new version of one may fix it. */
  readonly brokenBy: ReadonlySet<string>
  /** A component is Degraded or Failed. */
  readonly hasBad: boolean
  /** A component is switching, or was ordered to. */
  readonly isBusy: boolean
  /** A file on its node forbids every disruption by the agent. */
  readonly isFrozen: boolean
  /** An order is for a fresh copy of what was changed on the node: only then does the order's age matter. */
  readonly hasFreshCopy: boolean
  /** By index of the component in the set. */
  readonly orders: readonly (ComponentOrder | undefined)[]
  readonly reports: readonly (ComponentStatus | undefined)[]
  /** Its standing for the last target, by index. Each reconcile asks for the same targets. */
  readonly found: (Found | undefined)[]
}

const NONE: ReadonlySet<string> = new Set()

interface Found {
  readonly target: ComponentTarget
  readonly standing: Standing
}

/**
 * A machine that is silent this long during its switch is lost, unless the switch reboots it. A shorter silence proves nothing about the version: its
 * agent keeps running, and judges the version over a whole settle window.
 */
export const LOST_AFTER_MS = 300_000
/** The longest limit of the machine controller before a rebooting machine is Lost: with a restart by its provider. */
const REBOOTED_AFTER_MS = 2 * RETURNS_WITHIN_MS

const JOINING: ReadonlySet<string | undefined> = new Set([
  undefined,
  'Pending',
  'Provisioning',
  'Joining',
  'Importing',
  'Installing',
])

/** Called thousands of times after a start, so it takes one pass over the machine and creates one object. */
export function readMachine(machine: Machine, node: Node | undefined, indexOf: ReadonlyMap<string, number>): Reading {
  const { spec, status, metadata } = machine
  const orders = byIndex<ComponentOrder>(spec.components, indexOf)
  const reports = byIndex<ComponentStatus>(status?.components, indexOf)
  let isBusy = false
  let runs = ''
  let hasBad = false
  let broken: ComponentStatus | undefined
  let bad = NONE
  if (hasOpenSwitch(machine)) isBusy = true
  const { health, why, isAwaited = false, isClosed = false } = healthOf(machine, node)
  for (const r of status?.components ?? []) {
    if (isSwitching(r.state)) isBusy = true
    if (r.state === 'Degraded' || r.state === 'Failed') hasBad = true
    if (r.version !== undefined) runs += `${r.name} ${r.version}\n`
    if (isBad(r.state, status?.phase) || (isClosed && keepsClosed(r.state))) {
      broken = r
      bad = new Set([...bad, r.name])
    }
  }
  const isOnlyComponents = health === 'Up' || isClosed || (status?.phase === 'Failed' && health === 'Broken')
  const kind = hardwareClass(machine, node)
  const isBroken = broken !== undefined && health !== 'Joining' && isOnlyComponents
  return {
    machine,
    node,
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    health: isBroken ? 'Broken' : health,
    why: isBroken ? `component ${broken?.name} is ${broken?.state}` : why,
    isAwaited,
    class: kind,
    place: placeOf(machine, kind),
    runs,
    brokenBy: isBroken ? bad : NONE,
    hasBad,
    isBusy,
    isFrozen: isNodeFrozen(machine),
    hasFreshCopy: spec.components?.some((c) => c.fresh !== undefined) === true,
    orders,
    reports,
    found: orders.map(() => undefined),
  }
}

/** Most machines have exactly the components of their set, sorted by name. In that case, return their list as is. */
function byIndex<T extends { readonly name: string }>(
  list: readonly T[] = [],
  indexOf: ReadonlyMap<string, number>,
): readonly (T | undefined)[] {
  if (list.length === indexOf.size && list.every((one, i) => indexOf.get(one.name) === i)) return list
  const out = Array<T | undefined>(indexOf.size).fill(undefined)
  for (const one of list) {
    const i = indexOf.get(one.name)
    if (i !== undefined) out[i] = one
  }
  return out
}

/** RolledBack alone is not bad: the previous version runs. It explains a machine that is Failed. */
const isBad = (state: ComponentState, phase: string | undefined): boolean =>
  state === 'Degraded' || state === 'Failed' || (state === 'RolledBack' && phase === 'Failed')

/** For a Node that takes no pods yet: another version may open it. */
const keepsClosed = (state: ComponentState): boolean => state !== 'Healthy' && !isSwitching(state)

/** The machine controller sets this reason until it has seen a Lease of the agent. */
const NEVER_SEEN: Reason = 'NotYetObserved'

/** In these phases, the machine's problems are read from its node, agent and components. */
const IN_SERVICE: ReadonlySet<string | undefined> = new Set(['Ready', 'NotReady', 'Updating'])

interface Diagnosis {
  readonly health: Health
  readonly why: string
  readonly isAwaited?: boolean
  /** Its startup taint is the only problem of its Node. */
  readonly isClosed?: boolean
}

const found = (health: Health, why: string): Diagnosis => ({ health, why })

const NO_HOST: ReadonlySet<string> = new Set<Reason>([
  'ReferenceMissing',
  'ProviderError',
  'ProviderThrottled',
  'OfferingsExhausted',
])

/** Why a machine without a node has no host either. Its agent cannot report and is not to blame. */
function hostTrouble(status: Machine['status']): string | undefined {
  const host = status?.conditions?.find((c) => c.type === 'InfrastructureReady')
  const isWithout = status?.nodeRef === undefined && host?.status === 'False' && NO_HOST.has(host.reason)
  return isWithout ? `no host: ${host.message}` : undefined
}

function healthOf({ metadata, status }: Machine, node: Node | undefined): Diagnosis {
  const phase = status?.phase
  if (metadata.deletionTimestamp !== undefined || phase === 'Deleting') return found('Leaving', 'being deleted')
  if (phase === 'Lost') return found('Silent', 'phase Lost')
  const reachable = status?.conditions?.find((c) => c.type === 'AgentReachable')
  if (reachable !== undefined && reachable.status !== 'True') {
    // Nothing is known about it either, so treat it like a machine that fell silent.
    const isAwaited = JOINING.has(phase) && reachable.reason === NEVER_SEEN
    const why = hostTrouble(status)
    if (isAwaited) return { health: 'Silent', why: why ?? 'still joining: no heartbeat from its agent yet', isAwaited }
    return found(
      'Silent',
      why ?? (reachable.reason === 'Rebooting' ? reachable.message : 'no heartbeat from its agent'),
    )
  }
  // A deleted Node registers with its startup taint again. That does not make the machine a newcomer.
  const isClosed = status?.inServiceSince !== undefined && hasTaint(node, TAINTS.componentsPending)
  if (!isClosed && JOINING.has(phase)) return found('Joining', `phase ${phase ?? 'unknown'}`)
  if (!IN_SERVICE.has(phase) && phase !== 'Installing') return found('Broken', `phase ${phase}`)
  if (!isNodeReady(node))
    return found('Broken', node === undefined ? 'its Node does not exist' : 'its Node is not Ready')
  if (isClosed) return { health: 'Broken', why: 'its Node registered again and takes no pods yet', isClosed }
  return found('Up', '')
}

/**
 * It never served, so losing it costs nothing: it is still joining, or its agent never sent a heartbeat. If it has a Node, the Node must serve. A
 * machine that served before and rejoins is no loss only while its Node serves.
 */
export function isNoLoss({ machine, node, health, isAwaited }: Reading): boolean {
  if (health !== 'Joining' && !isAwaited) return false
  if (machine.status?.inServiceSince !== undefined) return health === 'Joining' && isServing(node)
  return health === 'Joining' || node === undefined || isNodeReady(node)
}

/** Unavailable, or may become so because of a switch that runs. Losing it costs something. */
export const isDown = (reading: Reading): boolean => !isNoLoss(reading) && (reading.health !== 'Up' || reading.isBusy)

const isServing = (node: Node | undefined): boolean => isNodeReady(node) && !hasTaint(node, TAINTS.componentsPending)

/** Its agent sends heartbeats, but its Node was deleted. */
export const isNodeDeleted = ({ machine, node, health }: Reading): boolean =>
  node === undefined &&
  health === 'Broken' &&
  machine.status?.phase === 'NotReady' &&
  machine.status.nodeRef !== undefined

/** The state of a machine relative to the desired version of a component. */
export type Standing =
  /** Ordered, runs it, healthy. */
  | 'Updated'
  /** Runs it and is healthy, but a change on the node needs a fresh copy. */
  | 'Drifted'
  /** Ordered and runs it, but a probe fails. */
  | 'Unhealthy'
  /** Ordered; not there yet. */
  | 'Pending'
  /** An order is pending, or the machine is between two versions. */
  | 'Switching'
  /** It was tried and rolled back, or it broke. */
  | 'Failed'
  /** Has another version or none. */
  | 'Outdated'
  /** A canary currently decides about it. */
  | 'Canary'

export function standingOf(reading: Reading, index: number, target: ComponentTarget): Standing {
  const known = reading.found[index]
  if (known !== undefined && isSameTarget(known.target, target)) return known.standing
  const standing = standingAgain(reading, index, target)
  reading.found[index] = { target, standing }
  return standing
}

function standingAgain(reading: Reading, index: number, target: ComponentTarget): Standing {
  const order = reading.orders[index]
  const report = reading.reports[index]
  if (target.version === undefined) return standingToGo(order, report)
  if (order === undefined) return 'Outdated'
  if (isSwitchOpen(order, report) || (report !== undefined && isSwitching(report.state))) return 'Switching'
  if (!isOrderFor(order, target)) return order.canaryRef === undefined ? 'Outdated' : 'Canary'
  if (report === undefined || report.desired !== target.version) return 'Pending'
  // A report about an earlier attempt does not apply to this one. A report without an attempt does: otherwise the rollout would wait in vain.
  if ((report.attempt ?? order.attempt) !== order.attempt) return 'Pending'
  switch (report.state) {
    case 'RolledBack':
      return isOthersFailure(report) ? 'Pending' : 'Failed'
    case 'Failed':
      return 'Failed'
    case 'Healthy':
      // An agent that reports another version as healthy is not believed. The progress deadline ends the wait.
      if (report.version !== target.version) return 'Pending'
      return report.drifted === undefined ? 'Updated' : 'Drifted'
    case 'Degraded':
      return report.version === target.version ? 'Unhealthy' : 'Pending'
    case 'Fetching':
    case 'Staged':
    case 'Switching':
    case 'Probing':
      return 'Pending'
    default:
      return assertNever(report.state)
  }
}

/** No longer ordered. It is being uninstalled until the agent stops reporting it. */
function standingToGo(order: ComponentOrder | undefined, report: ComponentStatus | undefined): Standing {
  if (order === undefined) return report === undefined ? 'Updated' : 'Pending'
  if (isSwitchOpen(order, report) || (report !== undefined && isSwitching(report.state))) return 'Switching'
  return order.canaryRef === undefined ? 'Outdated' : 'Canary'
}

/** It has the version, healthy or not. */
export const isThere = (standing: Standing | undefined): boolean =>
  standing === 'Updated' || standing === 'Drifted' || standing === 'Unhealthy'

/** The agent rolled back or broke while its order is still pending. This counts as a failure before the machine's part ends. */
export function reportsFailure({ orders, reports }: Reading, index: number, target: ComponentTarget): boolean {
  const [order, report] = [orders[index], reports[index]]
  if (order === undefined || report === undefined || target.version === undefined) return false
  if (order.version !== target.version) return false
  if (report.desired !== target.version || (report.attempt ?? order.attempt) !== order.attempt) return false
  return report.state === 'Failed' || (report.state === 'RolledBack' && !isOthersFailure(report))
}

const SHARED: Reason = 'RebootShared'

/** It shared a reboot with a component that failed, and its machine went back with both. That is no evidence against it. */
const isOthersFailure = ({ state, reason }: ComponentStatus): boolean => state === 'RolledBack' && reason === SHARED

/** The same for the attempt of the slice that began at this time. */
export function endedByAnother({ orders, reports }: Reading, index: number, startedAt: string | undefined): boolean {
  const [order, report] = [orders[index], reports[index]]
  if (order === undefined || report === undefined || order.slice !== startedAt) return false
  return report.attempt === order.attempt && isOthersFailure(report)
}

/** When its agent fell silent, in milliseconds. Undefined if the status does not show it. */
export function silentSince({ machine }: Reading): number | undefined {
  const since = machine.status?.conditions?.find((c) => c.type === 'AgentReachable')?.lastTransitionTime
  return since === undefined ? undefined : Date.parse(since)
}

/** It has been silent too long for its switch to end on its own. A rebooting machine is lost when the machine controller marks it Lost. */
export function isLost(reading: Reading, now: number): boolean {
  const since = reading.health === 'Silent' ? silentSince(reading) : undefined
  if (since === undefined) return false
  const isRebooting = reading.machine.status?.phase !== 'Lost' && rebooting(reading.machine) !== undefined
  return now - since >= (isRebooting ? REBOOTED_AFTER_MS : LOST_AFTER_MS)
}
