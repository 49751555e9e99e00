// The state of one machine for a rollout: whether it may be disrupted, its orders and its reports. A missing reading counts against a disruption.
import type { Reason } from '#api/catalogue.ts'
import { TAINTS } from '#api/names.ts'
import type { ComponentOrder, ComponentStatus, Machine } from '#api/kinds/machine.ts'
import { rebooting } from '#api/protocol/rebooting.ts'
import { type ComponentState, isSwitching } from '#api/protocol/switch.ts'
import { assertNever } from '#lib/errors.ts'
import { isNodeFrozen } from '#permits/holds/in-force.ts'
import type { Node } from '#nodes/objects.ts'
import { placeOf } from '#nodes/placement/spread.ts'
import { hardwareClass } from '#nodes/placement/hardware-class.ts'
import { hasTaint, isNodeReady } from '#nodes/objects.ts'
import { type ComponentTarget, isSameTarget, isOrderFor } from '#api/protocol/component-order.ts'

/** Up may be disturbed. Joining has never worked yet. Broken has a trouble of its own. Silent says nothing. Leaving is being deleted. */
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
  /** All its domains in one text. */
  readonly place: string
  /** Every component that runs, with its version, in one line each: equal on most machines. */
  readonly runs: string
  /** Components, where nothing but these is wrong with the machine: a new version of one may be what heals it. */
  readonly brokenBy: ReadonlySet<string>
  /** Some component is being switched, or was ordered to. */
  readonly isBusy: boolean
  /** A file on its node forbids its agent every disruption. */
  readonly isFrozen: boolean
  /** By index of the component in the set. */
  readonly orders: readonly (ComponentOrder | undefined)[]
  readonly reports: readonly (ComponentStatus | undefined)[]
  /** Its standing towards the last target, by index: each reconcile asks for the same targets. */
  readonly found: (Found | undefined)[]
}

const NONE: ReadonlySet<string> = new Set()

interface Found {
  readonly target: ComponentTarget
  readonly standing: Standing
}

/**
 * A machine silent for this long during its switch is lost, unless it reboots for it. A shorter silence proves nothing about the version: its agent keeps running,
 * and judges it by a whole settle window.
 */
export const LOST_AFTER_MS = 300_000
/** As the machine controller calls a machine Lost that reboots. */
const REBOOTED_AFTER_MS = 900_000

const JOINING: ReadonlySet<string | undefined> = new Set([
  undefined,
  'Pending',
  'Provisioning',
  'Joining',
  'Importing',
  'Installing',
])

/** Read thousands at a time after a start: one pass over what the machine says, and one object. */
export function readMachine(machine: Machine, node: Node | undefined, indexOf: ReadonlyMap<string, number>): Reading {
  const { spec, status, metadata } = machine
  const orders = byIndex<ComponentOrder>(spec.components, indexOf)
  const reports = byIndex<ComponentStatus>(status?.components, indexOf)
  let isBusy = false
  let runs = ''
  let broken: ComponentStatus | undefined
  let bad = NONE
  for (const t of spec.components ?? []) {
    if (t.switch !== undefined) isBusy = true
  }
  const { health, why, isAwaited = false, isClosed = false } = healthOf(machine, node)
  for (const r of status?.components ?? []) {
    if (isSwitching(r.state)) isBusy = true
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
    isBusy,
    isFrozen: isNodeFrozen(machine),
    orders,
    reports,
    found: orders.map(() => undefined),
  }
}

/** Most machines have exactly the components of their set, in the order of names: then the list is the one that they have. */
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

/** RolledBack alone is not bad: the version before runs. It explains a machine that is Failed. */
const isBad = (state: ComponentState, phase: string | undefined): boolean =>
  state === 'Degraded' || state === 'Failed' || (state === 'RolledBack' && phase === 'Failed')

/** On a Node that takes no pods yet: another version may be what opens it. */
const keepsClosed = (state: ComponentState): boolean => state !== 'Healthy' && !isSwitching(state)

/** The machine controller says so of a machine as long as it has seen no Lease of its agent. */
const NEVER_SEEN: Reason = 'NotYetObserved'

/** What is not well with one of them is read from its node, its agent and its components. */
const IN_SERVICE: ReadonlySet<string | undefined> = new Set(['Ready', 'NotReady', 'Updating'])

interface Diagnosis {
  readonly health: Health
  readonly why: string
  readonly isAwaited?: boolean
  /** Nothing but its startup taint is wrong with its Node. */
  readonly isClosed?: boolean
}

const found = (health: Health, why: string): Diagnosis => ({ health, why })

const NO_HOST: ReadonlySet<string> = new Set<Reason>([
  'ReferenceMissing',
  'ProviderError',
  'ProviderThrottled',
  'OfferingsExhausted',
])

/** Why a machine without a node has no host either: its agent cannot be heard, and is not to blame. */
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
    // Nothing is known of it either, so it is touched no more than one that fell silent.
    const isAwaited = JOINING.has(phase) && reachable.reason === NEVER_SEEN
    const why = hostTrouble(status)
    if (isAwaited) return { health: 'Silent', why: why ?? 'still joining: no heartbeat from its agent yet', isAwaited }
    return found(
      'Silent',
      why ?? (reachable.reason === 'Rebooting' ? reachable.message : 'no heartbeat from its agent'),
    )
  }
  // A Node that was deleted registers with its startup taint again; its machine is no newcomer for that.
  const isClosed = status?.inServiceSince !== undefined && hasTaint(node, TAINTS.componentsPending)
  if (!isClosed && JOINING.has(phase)) return found('Joining', `phase ${phase ?? 'unknown'}`)
  if (!IN_SERVICE.has(phase) && phase !== 'Installing') return found('Broken', `phase ${phase}`)
  if (!isNodeReady(node))
    return found('Broken', node === undefined ? 'its Node does not exist' : 'its Node is not Ready')
  if (isClosed) return { health: 'Broken', why: 'its Node registered again and takes no pods yet', isClosed }
  return found('Up', '')
}

/**
 * It never served, so that nothing is lost while it does not: it still joins, or its agent never sent a heartbeat. A Node that it has must serve. One that
 * served before, and joins again, is no loss only while its Node serves.
 */
export function isNoLoss({ machine, node, health, isAwaited }: Reading): boolean {
  if (health !== 'Joining' && !isAwaited) return false
  if (machine.status?.inServiceSince !== undefined) return health === 'Joining' && isServing(node)
  return health === 'Joining' || node === undefined || isNodeReady(node)
}

const isServing = (node: Node | undefined): boolean => isNodeReady(node) && !hasTaint(node, TAINTS.componentsPending)

/** Its agent sends heartbeats, but the Node that it had was deleted. */
export const isNodeDeleted = ({ machine, node, health }: Reading): boolean =>
  node === undefined &&
  health === 'Broken' &&
  machine.status?.phase === 'NotReady' &&
  machine.status.nodeRef !== undefined

/** The relation of a machine to the desired version of a component. */
export type Standing =
  /** Ordered, runs it, healthy. */
  | 'Updated'
  /** Runs it and is healthy, but something was changed on the node that only a fresh copy mends. */
  | 'Drifted'
  /** Ordered and runs it, but a probe fails. */
  | 'Unhealthy'
  /** Ordered; not there yet. */
  | 'Pending'
  /** An order stands, or it is between two versions. */
  | 'Switching'
  /** It was tried and went back, or broke. */
  | 'Failed'
  /** Has another version, or none. */
  | 'Outdated'
  /** A canary decides about it at the moment. */
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
  if (order.switch !== undefined || (report !== undefined && isSwitching(report.state))) return 'Switching'
  if (!isOrderFor(order, target)) return order.canaryRef === undefined ? 'Outdated' : 'Canary'
  if (report === undefined || report.desired !== target.version) return 'Pending'
  // A report about an attempt before this one says nothing about this one. One without an attempt is taken for it: the rollout would wait for another in vain.
  if ((report.attempt ?? order.attempt) !== order.attempt) return 'Pending'
  switch (report.state) {
    case 'RolledBack':
    case 'Failed':
      return 'Failed'
    case 'Healthy':
      // An agent that calls another version healthy is not believed; the progress deadline ends the waiting.
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

/** No longer ordered; until the agent stops reporting it, it is being uninstalled. */
function standingToGo(order: ComponentOrder | undefined, report: ComponentStatus | undefined): Standing {
  if (order === undefined) return report === undefined ? 'Updated' : 'Pending'
  if (order.switch !== undefined || (report !== undefined && isSwitching(report.state))) return 'Switching'
  return order.canaryRef === undefined ? 'Outdated' : 'Canary'
}

/** It has the version, however well. */
export const isThere = (standing: Standing | undefined): boolean =>
  standing === 'Updated' || standing === 'Drifted' || standing === 'Unhealthy'

/** The agent went back or broke, although its order still stands: known as a failure before its part is over. */
export function reportsFailure({ orders, reports }: Reading, index: number, target: ComponentTarget): boolean {
  const [order, report] = [orders[index], reports[index]]
  if (order === undefined || report === undefined || target.version === undefined) return false
  if (order.version !== target.version) return false
  if (report.desired !== target.version || (report.attempt ?? order.attempt) !== order.attempt) return false
  return report.state === 'RolledBack' || report.state === 'Failed'
}

/** Since when its agent is silent, in milliseconds; undefined when the status does not show it. */
export function silentSince({ machine }: Reading): number | undefined {
  const since = machine.status?.conditions?.find((c) => c.type === 'AgentReachable')?.lastTransitionTime
  return since === undefined ? undefined : Date.parse(since)
}

/** It has been silent so long that its switch will not end by itself. One that reboots is lost when the machine controller calls it so. */
export function isLost(reading: Reading, now: number): boolean {
  const since = reading.health === 'Silent' ? silentSince(reading) : undefined
  if (since === undefined) return false
  const isRebooting = reading.machine.status?.phase !== 'Lost' && rebooting(reading.machine) !== undefined
  return now - since >= (isRebooting ? REBOOTED_AFTER_MS : LOST_AFTER_MS)
}
