// A cluster in memory as the caches of the controllers hold it: machines with twelve components in twenty pools, their nodes and pods, repairs, permits and announced work.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { timestamp } from '#lib/clock.ts'
import { aMachine, condition, uidOf } from '#test/support/fleets/defender-objects.ts'

const POOLS = 20
const ZONES = 3
const CLASSES = 4
const COMPONENTS = 12
const RULES = 40
/** Of so many machines one is repaired, switched, or on a host with announced work. */
const ONE_IN = 10
const VERSIONS = 3

export const nameOf = (n: number): string => `prod-1-worker-${n}`
const of = (kind: string, name: string, more: object): KubeObject => ({
  apiVersion: API_GROUP_VERSION,
  kind,
  metadata: { name, uid: uidOf(name), creationTimestamp: '2026-01-05T00:00:00Z' },
  ...more,
})

function machineOf(n: number): KubeObject {
  const name = nameOf(n)
  const made = aMachine({
    name,
    pool: `pool-${n % POOLS}`,
    zone: `zone-${n % ZONES}`,
    inServiceSince: '2026-01-01T00:00:00Z',
    phase: n % 50 === 0 ? 'Lost' : 'Ready',
    reachable: n % 50 === 0 ? 'Unknown' : 'True',
    runs: Object.fromEntries(Array.from({ length: COMPONENTS }, (_, c) => [`component-${c}`, `1.${n % VERSIONS}.0`])),
  })
  const conditions = [...(made.status?.conditions ?? []), condition('NodeReady', n % 50 === 0 ? 'False' : 'True')]
  const nodeRef = { name, uid: `node-${n}` }
  return {
    ...made,
    spec: { ...made.spec, class: `class-${n % CLASSES}` },
    status: { ...made.status, conditions, nodeRef },
  }
}

const nodeOf = (n: number): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: nameOf(n), uid: `node-${n}`, labels: { 'kubenode.io/pool': `pool-${n % POOLS}` } },
  status: {
    capacity: { cpu: '32', memory: '131072000Ki', pods: '110', 'ephemeral-storage': '500Gi' },
    allocatable: { cpu: '31500m', memory: '129000000Ki', pods: '110', 'ephemeral-storage': '450Gi' },
    conditions: ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure', 'KernelDeadlock'].map((type) =>
      condition(type, type === 'Ready' ? 'True' : 'False'),
    ),
  },
})

const jobOf = (n: number): KubeObject =>
  of('RemedyOperationJob', `job-${n}`, {
    spec: {
      remedierRef: { name: `rule-${n % RULES}`, generation: 1 },
      node: { name: nameOf(n), uid: `node-${n}` },
      incident: `incident-${n}`,
      rung: 1,
      operations: [{ reboot: {} }],
    },
    status:
      n % 2 === 0
        ? { phase: 'Done', outcome: 'Succeeded', finishedAt: '2026-01-05T00:10:00Z' }
        : { phase: 'AwaitingPermit' },
  })

const permitOf = (n: number): KubeObject =>
  of('OperationPermit', `permit-${n}`, {
    spec: {
      operations: ['SwitchComponent'],
      targets: [{ kind: 'Machine', name: nameOf(n), uid: uidOf(nameOf(n)) }],
      requester: { kind: 'MachineComponentSet' },
    },
    status: { phase: 'Granted' },
  })

const eventOf = (n: number): KubeObject =>
  of('MaintenanceEvent', `event-${n}`, {
    spec: { machine: nameOf(n), source: 'cloud', eventId: `e-${n}`, kind: 'Reboot', unplanned: false },
    status: { phase: 'InProgress', phaseSince: timestamp(Date.parse('2026-01-05T00:00:00Z')) },
  })

/** Kind → objects. */
export function fleetOf(machines: number): ReadonlyMap<string, readonly KubeObject[]> {
  const some = Math.ceil(machines / ONE_IN)
  const many = <T>(count: number, one: (n: number) => T): readonly T[] =>
    Array.from({ length: count }, (_, n) => one(n))
  return new Map([
    ['Machine', many(machines, machineOf)],
    ['Node', many(machines, nodeOf)],
    ['RemedyOperationJob', many(some, jobOf)],
    ['OperationPermit', many(some, permitOf)],
    ['MaintenanceEvent', many(some, eventOf)],
  ])
}

/** A page of pods as a list answers it. */
export const podsOf = (from: number, count: number, machines: number): readonly KubeObject[] =>
  Array.from({ length: count }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${from + i}`, namespace: 'default' },
    spec: {
      nodeName: nameOf((from + i) % machines),
      containers: [
        { name: 'main', resources: { requests: { cpu: '500m', memory: '512Mi' } } },
        { name: 'beside', resources: { requests: { cpu: '10m', memory: '32Mi' } } },
      ],
    },
    status: { phase: 'Running' },
  }))
