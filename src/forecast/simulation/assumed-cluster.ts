// Makes the cluster of a simulation that is given no inventory: the machines of the declared MachineSets, all of them working. Pure, and the same each time.
import { machineComponentSet, type MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet, type MachineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { claimOf } from '#controllers/machine/components/claims.ts'
import { desiredComponents } from '#controllers/machine/components/desired.ts'
import { timestamp } from '#lib/clock.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { hostsIn, specFor } from '#nodes/placement/set-hosts.ts'
import type { Node } from '#nodes/objects.ts'
import { INVENTORY_FORM, type Inventory } from '../inventory.ts'
import { createdFrom } from '../objects.ts'

export interface Assumed {
  readonly cluster: string
  /** What the cluster has; undefined: nothing is installed yet. */
  readonly base: readonly KubeObject[] | undefined
  /** What rolls out. */
  readonly after: readonly KubeObject[]
  /** Of each MachineSet, instead of its replicas. */
  readonly machines: number | undefined
}

/** A fixed Monday morning, so that windows of maintenance give the same answer each day. */
const ASSUMED_START = Date.parse('2026-01-05T10:00:00Z')
const AT_REST_MS = 3_600_000

export function assumedCluster({ cluster, base, after, machines: count }: Assumed): Inventory {
  const sets = createdFrom(machineComponentSet, base ?? []) as readonly MachineComponentSet[]
  const machineSets = machineSetsIn(after)
  const machines = machineSets
    .flatMap((set) => Array.from({ length: replicasOf(set, count) }, (_, n) => bareMachine(set, n)))
    .map((machine) => running(machine, sets))
  return {
    form: INVENTORY_FORM,
    cluster,
    takenAt: timestamp(ASSUMED_START),
    machines,
    nodes: machines.map(nodeOf),
    machineSets: [],
    sets,
    components: [],
    revisions: [],
    permits: [],
    holds: [],
    approvals: [],
    policies: [],
    fullBudgets: [],
  }
}

/** How many machines each declared MachineSet has. */
export const declaredReplicas = (after: readonly KubeObject[], count: number | undefined): readonly number[] =>
  machineSetsIn(after).map((set) => replicasOf(set, count))

/** No more than it lists hosts. */
const replicasOf = (set: MachineSet, count: number | undefined): number =>
  Math.min(count ?? set.spec.replicas, hostsIn(set)?.length ?? Infinity)

const machineSetsIn = (declared: readonly KubeObject[]): readonly MachineSet[] =>
  createdFrom(machineSet, declared) as readonly MachineSet[]

const SINCE = timestamp(ASSUMED_START - AT_REST_MS)
const good = (type: string) => ({
  type,
  status: 'True' as const,
  reason: 'Assumed',
  message: '',
  lastTransitionTime: SINCE,
})

function bareMachine(set: MachineSet, n: number): Machine {
  const { template } = set.spec
  const host = hostsIn(set)?.[n]
  const name = host?.name ?? `${nameOf(set)}-${n}`
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: { name, uid: `assumed-${name}`, labels: template.metadata?.labels ?? {} },
    spec: specFor(template.spec, host),
    status: {
      phase: 'Ready',
      nodeRef: { name, uid: `assumed-node-${name}` },
      conditions: [good('AgentReachable'), good('Ready')],
    },
  }
}

/** With the components that the sets give it, as the machine controller chooses them. */
function running(machine: Machine, sets: readonly MachineComponentSet[]): Machine {
  const components = desiredComponents({
    machine: machine.metadata.name ?? '',
    isClosed: true,
    current: [],
    reports: [],
    claims: sets.flatMap((set) => claimOf(set, machine, () => undefined) ?? []),
    marks: [],
  })
  const reports = components.map(({ name, version, attempt }) => ({
    name,
    version,
    desired: version,
    attempt,
    state: 'Healthy' as const,
    since: SINCE,
  }))
  return { ...machine, spec: { ...machine.spec, components }, status: { ...machine.status, components: reports } }
}

const nodeOf = ({ spec, status }: Machine): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { ...status?.nodeRef, labels: spec.labels ?? {} },
  spec: { taints: spec.taints ?? [] },
  status: { conditions: [good('Ready')] },
})
