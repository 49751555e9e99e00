// One unit that can be unavailable, as the Defender itself observes it: which machine it is, its domains, and whether it works. Nothing comes from a
// request.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { LABELS, TAINTS } from '#api/names.ts'
import type { NODE_CONDITIONS } from '#api/node-conditions.ts'
import { REMOVAL_OWNER, isCordonedBy } from '#nodes/cordon.ts'
import { repairCordonsOn } from '#nodes/faults/acceptance.ts'
import type { Condition, KubeObject } from '#api/schema/object.ts'
import { certainStatus } from '#kube/conditions.ts'
import { defined } from '#lib/defined.ts'

/**
 * `NeverServed`: a machine or a control plane that is still being created or installed. It is neither unavailable nor part of the total for
 * percentages.
 */
export type Health = 'Healthy' | 'Unavailable' | 'Unknown' | 'NeverServed'

/** Whether a disruption takes nothing away. */
export const isOutOfService = ({ health }: Pick<Unit, 'health'>): boolean =>
  health === 'Unavailable' || health === 'NeverServed'

/** Whether it counts as unavailable. */
export const isAway = ({ health, isKeptOut }: Pick<Unit, 'health' | 'isKeptOut'>): boolean =>
  health !== 'Healthy' || isKeptOut === true

/** One thing that can be unavailable. A Machine and its Node are one unit, so that nothing is counted twice. */
export interface Unit {
  /** UID of the Machine, or of the Node or Cluster if there is no Machine. */
  readonly id: string
  /** Machines and Nodes count together; Clusters count among Clusters. */
  readonly space: 'machines' | 'clusters'
  readonly name: string
  readonly namespace?: string
  readonly nodeName?: string
  readonly labels: Readonly<Record<string, string>>
  readonly zone: string
  readonly rack: string
  readonly pool: string
  /** For Clusters. Empty for others. */
  readonly stage: string
  readonly region: string
  readonly health: Health
  /** Why it is not healthy, for people. */
  readonly why: string
  /** No heartbeats from its agent or its kubelet. */
  readonly isSilent: boolean
  /** Both its agent and its kubelet are silent. If both fail together, the machine or its network is the cause. */
  readonly isCutOff: boolean
  readonly badComponents: ReadonlySet<string>
  /** A repair keeps its Node cordoned, so it takes no new pods. What still runs there serves: a disruption of it is not free. */
  readonly isKeptOut?: boolean
  /** Since when its Node asks for a reboot; undefined while it does not. */
  readonly rebootAskedAt?: number | undefined
  readonly source: KubeObject
}

const NO_CLUSTER = { stage: '', region: '' } as const

export function machineUnit(machine: Machine, node: KubeObject | undefined): Unit {
  const { metadata, spec } = machine
  const nodeLabels = node?.metadata.labels ?? {}
  const zone = spec.zone ?? nodeLabels[LABELS.zone] ?? ''
  const rack = spec.rack ?? nodeLabels[LABELS.rack] ?? ''
  const pool = spec.pool ?? nodeLabels[LABELS.pool] ?? ''
  const domains = { [LABELS.zone]: zone, [LABELS.rack]: rack, [LABELS.pool]: pool }
  const known = Object.fromEntries(Object.entries(domains).filter(([, value]) => value !== ''))
  return {
    id: metadata.uid ?? '',
    space: 'machines',
    name: metadata.name ?? '',
    ...(machine.status?.nodeRef !== undefined && { nodeName: machine.status.nodeRef.name }),
    labels: { ...nodeLabels, ...spec.labels, ...metadata.labels, ...known },
    zone,
    rack,
    pool,
    ...NO_CLUSTER,
    ...withNode(machine, node, machineHealth(machine, node)),
    isSilent: isSilent(machine, node),
    isCutOff: conditionStatus(machine, 'AgentReachable') === 'False' && conditionStatus(node, 'Ready') === 'Unknown',
    badComponents: badComponents(machine),
    ...keptOut(node),
    rebootAskedAt: rebootAskedAt(node),
    source: machine,
  }
}

const conditionsOf = (o: KubeObject | undefined): readonly Condition[] =>
  (o?.['status'] as { readonly conditions?: readonly Condition[] } | undefined)?.conditions ?? []

const conditionStatus = (o: KubeObject | undefined, type: string): Condition['status'] | undefined =>
  certainStatus(conditionsOf(o), type)

const REBOOT_ASKED: keyof typeof NODE_CONDITIONS = 'RebootRequired'

function rebootAskedAt(node: KubeObject | undefined): number | undefined {
  const asked = conditionsOf(node).find((c) => c.type === REBOOT_ASKED && c.status === 'True')
  const at = Date.parse(asked?.lastTransitionTime ?? '')
  return Number.isNaN(at) ? undefined : at
}

/** Phases in which a machine is known not to serve. A machine that is being deleted serves until it is drained. */
const OUT: ReadonlySet<string> = new Set(['Installing', 'Repairing', 'Draining', 'Failed', 'Lost'])

/** Phases of a machine before it first serves. */
const BEFORE_SERVICE: ReadonlySet<string> = new Set([
  'Pending',
  'Provisioning',
  'Joining',
  'Installing',
  'Failed',
  'Deleting',
])

/** Phases before the agent reports. An existing host may have served all along, which its Node shows. */
const NOT_OURS_YET: ReadonlySet<string> = new Set(['Pending', 'Provisioning', 'Joining', 'Importing'])

type Judged = Pick<Unit, 'health' | 'why'>

function takenOver(phase: string, node: KubeObject | undefined): Judged {
  const ready = conditionStatus(node, 'Ready')
  if (node === undefined || ready === 'False' || isPending(node)) return { health: 'Unavailable', why: `is ${phase}` }
  if (ready === 'True') return { health: 'Healthy', why: `is ${phase}, and its Node is Ready` }
  return { health: 'Unknown', why: `is ${phase}, Node Ready is ${ready ?? 'not reported'}` }
}

/** The Node still waits for its components, and runs only what every node has. */
function isPending(node: KubeObject): boolean {
  const { taints = [] } = (node['spec'] as { readonly taints?: readonly { readonly key: string }[] } | undefined) ?? {}
  return taints.some((t) => t.key === TAINTS.componentsPending)
}

/** A deleted Node that registers again gets the startup taint again. Only the recorded time shows that the machine served before. */
function hasNeverServed(machine: Machine, node: KubeObject | undefined): boolean {
  const { status } = machine
  if (status?.inServiceSince !== undefined || !BEFORE_SERVICE.has(status?.phase ?? '')) return false
  if (conditionStatus(machine, 'Ready') === 'True') return false
  return node === undefined ? status?.nodeRef === undefined : isPending(node)
}

/**
 * A machine whose new version is only staged still serves, whatever its Ready condition shows about the difference. If it counted as broken, the
 * requested disruption would be free.
 */
export function machineHealth(machine: Machine, node: KubeObject | undefined): Judged {
  const { phase } = machine.status ?? {}
  if (phase === undefined) return { health: 'Unknown', why: 'has no phase yet' }
  if (hasNeverServed(machine, node)) return { health: 'NeverServed', why: `is ${phase} and has never served` }
  if (NOT_OURS_YET.has(phase)) return takenOver(phase, node)
  if (OUT.has(phase)) return { health: 'Unavailable', why: `is ${phase}` }
  if (node !== undefined && isPending(node))
    return { health: 'Unavailable', why: 'takes no pods yet: its Node has the startup taint' }
  const reachable = conditionStatus(machine, 'AgentReachable')
  const nodeReady = node === undefined ? 'True' : conditionStatus(node, 'Ready')
  if (nodeReady === 'False') return { health: 'Unavailable', why: 'its Node is not Ready' }
  if (reachable === 'False' || reachable === 'Unknown')
    return { health: 'Unknown', why: 'no heartbeat from its agent, so its status is stale' }
  // A silent kubelet on a machine whose agent still reports is known to be unavailable.
  if (nodeReady === 'Unknown' && reachable === 'True')
    return { health: 'Unavailable', why: 'no heartbeat from its kubelet (its agent is alive)' }
  if (nodeReady !== 'True') return { health: 'Unknown', why: `Node Ready is ${nodeReady ?? 'not reported'}` }
  const bad = badComponents(machine)
  if (bad.size > 0) return { health: 'Unavailable', why: `component ${[...bad].toSorted()[0]} is unhealthy` }
  const ready = conditionStatus(machine, 'Ready')
  if (ready === 'True' || (ready === 'False' && phase === 'Updating')) return { health: 'Healthy', why: 'is healthy' }
  if (ready === 'False') return { health: 'Unavailable', why: phase === 'Deleting' ? 'is drained' : 'is not Ready' }
  return { health: 'Unknown', why: `Ready is ${ready ?? 'not reported'}` }
}

/** Also after the repair failed: its cordon stays, and the slot of its permit is free. */
const keptOut = (node: KubeObject | undefined): Pick<Unit, 'isKeptOut'> =>
  node !== undefined && repairCordonsOn(node).length > 0 ? { isKeptOut: true } : {}

/** Its Node was deleted, or registered again under another UID, and the Machine does not show it yet. Where no Node is, no pod runs. */
function withNode({ status }: Machine, node: KubeObject | undefined, judged: Judged): Judged {
  const { nodeRef } = status ?? {}
  return judged.health === 'Healthy' && node === undefined && nodeRef !== undefined
    ? { health: 'Unknown', why: `its Node ${nodeRef.name} is not there` }
    : judged
}

const BAD_STATES: ReadonlySet<string> = new Set(['Switching', 'Probing', 'Degraded', 'Failed'])

const badComponents = (machine: Machine): ReadonlySet<string> =>
  new Set((machine.status?.components ?? []).filter((c) => BAD_STATES.has(c.state)).map((c) => c.name))

/** An agent that has not joined yet sends no heartbeats. That is not silence. */
function isSilent(machine: Machine, node: KubeObject | undefined): boolean {
  const { phase } = machine.status ?? {}
  const reachable = conditionStatus(machine, 'AgentReachable') ?? 'True'
  const isAgentSilent = reachable !== 'True' && !NOT_OURS_YET.has(phase ?? '')
  return phase === 'Lost' || isAgentSilent || conditionStatus(node, 'Ready') === 'Unknown'
}

export function nodeUnit(node: KubeObject): Unit {
  const { uid = '', name = '', labels = {} } = node.metadata
  const ready = conditionStatus(node, 'Ready')
  // Its Machine does not name it yet. Counted as healthy, it would make room to disrupt a serving machine.
  const isNew = isPending(node)
  // Its Machine was already deleted, and the Node cache lags behind the Machine cache.
  const isRemoved = isCordonedBy(node, REMOVAL_OWNER)
  const reported = ready === 'True' ? 'Healthy' : ready === 'False' ? 'Unavailable' : 'Unknown'
  const health = isNew ? 'NeverServed' : isRemoved ? 'Unavailable' : reported
  return {
    id: uid,
    space: 'machines',
    name,
    nodeName: name,
    labels,
    zone: labels[LABELS.zone] ?? '',
    rack: labels[LABELS.rack] ?? '',
    pool: labels[LABELS.pool] ?? '',
    ...NO_CLUSTER,
    health,
    why: isNew
      ? 'waiting for its components'
      : isRemoved
        ? 'is drained for removal'
        : `Ready is ${ready ?? 'not reported'}`,
    isSilent: ready === 'Unknown',
    isCutOff: false,
    badComponents: new Set(),
    ...keptOut(node),
    rebootAskedAt: rebootAskedAt(node),
    source: node,
  }
}

/** A new Cluster that waits for room on a full hub must not use up the budget needed to delete another one. */
const isNewCluster = ({ spec, status }: Cluster): boolean =>
  spec.controlPlane !== undefined && (status?.history ?? []).length === 0

export function clusterUnit(cluster: Cluster): Unit {
  const { uid = '', name = '', namespace, labels = {} } = cluster.metadata
  const { stage } = cluster.spec
  const ready = conditionStatus(cluster, 'Ready')
  // Stopped on purpose at its expiry: it uses no budget of the serving ones.
  const isExpired = cluster.status?.phase === 'Expired'
  const health =
    isExpired || ready === 'True'
      ? 'Healthy'
      : isNewCluster(cluster)
        ? 'NeverServed'
        : ready === 'False'
          ? 'Unavailable'
          : 'Unknown'
  return {
    id: uid,
    space: 'clusters',
    name,
    ...defined({ namespace }),
    labels: stage === undefined ? labels : { [LABELS.stage]: stage, ...labels },
    zone: '',
    rack: '',
    pool: '',
    stage: stage ?? '',
    region: labels[LABELS.region] ?? '',
    health,
    why: isExpired
      ? 'its time to live is over'
      : health === 'NeverServed'
        ? 'its control plane has never served'
        : `Ready is ${ready ?? 'not reported'}`,
    isSilent: ready === undefined || ready === 'Unknown',
    isCutOff: false,
    badComponents: new Set(),
    source: cluster,
  }
}
