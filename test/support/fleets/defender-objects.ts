// Builders for tests of the Defender: machines, permits, policies, holds and whole snapshots, each right unless a test says otherwise.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { DefenderPolicySpec } from '#api/kinds/defender-policy.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit, PermitSpec } from '#api/kinds/operation-permit.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { compilePolicy, type CompiledPolicy } from '#defender/compile-policy.ts'
import { fleetView } from '#defender/fleet.ts'
import type { Snapshot } from '#defender/snapshot.ts'
import type { Condition, KubeObject } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'

const AT = '2026-01-05T00:00:00Z'
export const START_MS = Date.parse(AT)

export const uidOf = (name: string): string => `uid-${name}`

export const condition = (type: string, status: Condition['status']): Condition => ({
  type,
  status,
  reason: 'AsDeclared',
  message: '',
  lastTransitionTime: AT,
})

export interface MachineWish {
  readonly name: string
  readonly zone?: string
  readonly rack?: string
  readonly pool?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly phase?: NonNullable<Machine['status']>['phase']
  readonly ready?: Condition['status']
  readonly reachable?: Condition['status']
  readonly kernel?: string
  readonly deletionTimestamp?: string
  readonly inServiceSince?: string
  /** Component → version, as it runs and as it is wanted. */
  readonly runs?: Readonly<Record<string, string>>
}

export function aMachine({
  name,
  labels,
  phase = 'Ready',
  ready = 'True',
  reachable = 'True',
  kernel,
  deletionTimestamp,
  inServiceSince,
  runs = {},
  ...domains
}: MachineWish): Machine {
  const running = Object.entries(runs).map(([component, version]) => ({ name: component, version }))
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: {
      name,
      uid: uidOf(name),
      ...defined({ labels, deletionTimestamp }),
    },
    spec: {
      channel: 'Agent',
      ...domains,
      ...(running.length > 0 && { components: running.map((c) => ({ ...c, attempt: 1 })) }),
    },
    status: {
      phase,
      ...defined({ inServiceSince }),
      ...(kernel !== undefined && { platform: { kernel } }),
      ...(running.length > 0 && {
        components: running.map((c) => ({ ...c, state: 'Healthy' as const, since: AT })),
      }),
      conditions: [condition('Ready', ready), condition('AgentReachable', reachable)],
    },
  }
}

export const machines = (n: number, wish: Partial<MachineWish> = {}): readonly Machine[] =>
  Array.from({ length: n }, (_, i) => aMachine({ name: `m-${i}`, ...wish }))

export interface PermitWish extends Partial<Omit<PermitSpec, 'targets'>> {
  readonly name: string
  readonly targets: readonly string[]
  readonly createdAt?: string
  readonly status?: OperationPermit['status']
}

export function aPermit({ name, targets, createdAt = AT, status, ...spec }: PermitWish): OperationPermit {
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'OperationPermit',
    metadata: { name, uid: uidOf(name), generation: 1, resourceVersion: '1', creationTimestamp: createdAt },
    spec: {
      operations: ['Reboot'],
      targets: targets.map((t) => ({ kind: 'Machine', name: t, uid: uidOf(t) })),
      requester: { manager: 'kubenode-remedyjob' },
      reason: 'a test',
      recovery: false,
      leaseSeconds: 120,
      ...spec,
    },
    ...defined({ status }),
  }
}

export const aPolicy = (spec: Partial<DefenderPolicySpec>, name = 'p'): CompiledPolicy =>
  compilePolicy({
    apiVersion: API_GROUP_VERSION,
    kind: 'DefenderPolicy',
    metadata: { name, uid: uidOf(name) },
    spec: { mode: 'Enforce', ...spec },
  })

export const aHold = (
  effect: OperationalHold['spec']['effect'],
  target: OperationalHold['spec']['target'],
  until = '2026-02-01T00:00:00Z',
): OperationalHold => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'OperationalHold',
  metadata: { name: `hold-${effect.toLowerCase()}`, uid: uidOf(effect) },
  spec: { target, effect, reason: 'a test', author: 'ada', until },
})

export interface SnapshotWish extends Partial<Omit<Snapshot, 'fleet'>> {
  readonly machines?: readonly Machine[]
  readonly nodes?: readonly KubeObject[]
  readonly clusters?: readonly Cluster[]
}

export function aSnapshot({
  machines: list = machines(10),
  nodes = [],
  clusters = [],
  ...wish
}: SnapshotWish = {}): Snapshot {
  return {
    permits: [],
    policies: [],
    holds: [],
    approvals: [],
    fleet: fleetView({ machines: list, nodes, clusters }),
    hosts: new Map(),
    unknown: undefined,
    cluster: undefined,
    wall: START_MS,
    leasesOver: new Set(),
    deletedPermits: new Set(),
    deletedTargets: new Set(),
    suspicions: [],
    retried: new Set(),
    isIdle: () => false,
    isRecovery: () => false,
    isWithoutDisruption: () => false,
    rules: new Map(),
    ...wish,
  }
}
