// A fleet in memory for rollouts: machines, their agents, the machine controller's own decisions and a Defender, each a pure step that takes its turn when a test says so.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { ComponentStatus, Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { isSwitching } from '#api/protocol/switch.ts'
import { timestamp } from '#lib/clock.ts'
import { componentObjectName } from '#lib/names.ts'
import type { Node } from '#nodes/objects.ts'
import { type ControllerRevision, claimOf } from '#controllers/machine/claims.ts'
import { desiredComponents } from '#controllers/machine/desired-components.ts'
import { planOrders } from '#controllers/machine/orders.ts'

export const POOL = { 'kubenode.io/pool': 'workers' }
export const START = Date.parse('2026-01-05T10:00:00Z')

export interface MachineOptions {
  readonly versions?: Readonly<Record<string, string>>
  readonly zone?: string
  readonly rack?: string
  readonly class?: string
  readonly labels?: Readonly<Record<string, string>>
}

/** A machine that works, with these versions running. */
export function workingMachine(
  name: string,
  { versions = {}, zone, rack, class: cls, labels = POOL }: MachineOptions = {},
): Machine {
  const components = Object.entries(versions)
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: { name, uid: `uid-${name}`, labels },
    spec: {
      channel: 'Agent',
      ...(zone !== undefined && { zone }),
      ...(rack !== undefined && { rack }),
      ...(cls !== undefined && { class: cls }),
      components: components.map(([c, version]) => ({ name: c, version, setRef: 'base', attempt: 1 })),
    },
    status: {
      phase: 'Ready',
      nodeRef: { name, uid: `node-${name}` },
      conditions: [condition('AgentReachable', 'True')],
      components: components.map(([c, version]) => ({
        name: c,
        version,
        desired: version,
        state: 'Healthy',
        since: timestamp(START - 3_600_000),
        attempt: 1,
      })),
    },
  }
}

const condition = (type: string, status: 'True' | 'False', at = START) => ({
  type,
  status,
  reason: 'AsDeclared',
  message: '',
  lastTransitionTime: timestamp(at),
})

export const readyNode = (name: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, uid: `node-${name}` },
  status: { conditions: [condition('Ready', 'True')] },
})

export const component = (name: string, version: string, more: object = {}): MachineComponent => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'MachineComponent',
  metadata: { name: componentObjectName(name, version) },
  spec: { component: name, version, type: 'Package', disruption: 'Restart', drainOn: 'Always', ...more },
})

type SetSpec = MachineComponentSet['spec']

export function componentSet(
  versions: Readonly<Record<string, string>>,
  rollout: Partial<SetSpec['rollout']> = {},
  more: Partial<SetSpec> & { readonly name?: string } = {},
): MachineComponentSet {
  const { name = 'base', ...spec } = more
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'MachineComponentSet',
    metadata: { name, uid: `set-${name}`, generation: 1 },
    spec: {
      selector: { matchLabels: POOL },
      priority: 0,
      components: Object.entries(versions).map(([c, version]) => ({ name: c, version })),
      rollout: {
        steps: [1, 5, 10, 50, 100],
        maxUnavailable: '10%',
        soak: '1m',
        progressDeadline: '30m',
        onFailure: 'Pause',
        spread: ['class', 'zone', 'rack'],
        ...rollout,
      },
      ...spec,
    },
  }
}

/** What the machine controller makes of the machine now: its own pure decisions, wired as simply as can be. */
export function machineControllerTurn(
  machine: Machine,
  sets: readonly MachineComponentSet[],
  permits: readonly OperationPermit[],
  revisions: readonly ControllerRevision[],
  definitions: readonly MachineComponent[],
): Machine {
  const claims = sets.flatMap((s) => claimOf(s, machine, (n) => revisions.find((r) => r.metadata.name === n)) ?? [])
  const name = machine.metadata.name ?? ''
  const reports = machine.status?.components ?? []
  const desired = desiredComponents({
    machine: name,
    isFirstInstall: machine.status?.phase === 'Installing',
    current: machine.spec.components ?? [],
    reports,
    claims,
    marks: [],
  })
  const { components } = planOrders({
    machine: name,
    machineUid: machine.metadata.uid ?? '',
    components: desired,
    reports,
    claims,
    marks: [],
    permits: permits.filter((p) => p.spec.targets.some((t) => t.uid === machine.metadata.uid)),
    definitions,
    isDrained: true,
  })
  const isBusy = components.some((c) => c.switch !== undefined) || reports.some((r) => isSwitching(r.state))
  const phase = machine.status?.phase
  const next = phase === 'Ready' || phase === 'Updating' ? (isBusy ? 'Updating' : 'Ready') : phase
  return {
    ...machine,
    spec: { ...machine.spec, components },
    status: { ...machine.status, ...(next && { phase: next }) },
  }
}

export type Quality = (
  component: string,
  version: string,
  machine: string,
) => 'good' | 'probe fails' | 'breaks' | 'refused'

/** What an agent says of a version that it does not accept. */
const REFUSAL = 'KN8013: cannot install it: it has 0 of 1 needed signatures'

/** One move of the agent with each component, by the shared table: stage, switch under a granted permit, probe, commit or go back. */
export function agentTurn(
  machine: Machine,
  isGranted: (permit: string) => boolean,
  quality: Quality,
  now: number,
): Machine {
  const reports = machine.status?.components ?? []
  const next = (machine.spec.components ?? []).map((told): ComponentStatus => {
    const report = reports.find((r) => r.name === told.name)
    const base = { name: told.name, desired: told.version, attempt: told.attempt, since: timestamp(now) }
    const running = {
      ...(report?.version !== undefined && { version: report.version }),
      ...(report?.drifted !== undefined && { drifted: report.drifted }),
      ...(report?.healthyBefore !== undefined && { healthyBefore: report.healthyBefore }),
    }
    const isKnown = report?.desired === told.version && report.attempt === told.attempt
    if (report !== undefined && isSwitching(report.state)) {
      const desired = report.desired ?? ''
      const how = quality(told.name, desired, machine.metadata.name ?? '')
      if (report.state === 'Switching') return { ...report, since: timestamp(now), state: 'Probing' }
      const { drifted: _, ...fresh } = report
      if (how === 'good') return { ...fresh, version: desired, since: timestamp(now), state: 'Healthy' }
      return { ...report, since: timestamp(now), state: how === 'breaks' ? 'Failed' : 'RolledBack' }
    }
    const isInPlace = report?.version === told.version && report.drifted === undefined
    if (!isKnown) return { ...base, ...running, state: isInPlace ? 'Healthy' : 'Fetching' }
    if (report.state === 'Fetching' && quality(told.name, told.version, machine.metadata.name ?? '') === 'refused')
      return { ...report, message: REFUSAL }
    if (report.state === 'Fetching') return { ...report, since: timestamp(now), state: 'Staged' }
    const isOrdered = told.switch?.attempt === told.attempt && isGranted(told.switch.permit)
    if (report.state === 'Staged' && (isOrdered || machine.status?.phase === 'Installing'))
      return { ...report, since: timestamp(now), state: 'Switching' }
    return report
  })
  return { ...machine, status: { ...machine.status, components: next } }
}

/** A Defender that grants what it is asked, one verdict a target, and releases what is done. */
export function defenderTurn(permit: OperationPermit, now: number): OperationPermit {
  const { phase } = permit.status ?? {}
  const { targets, results = {} } = permit.spec
  const isDone = targets.every((t) => results[t.uid] !== undefined)
  if ((phase ?? 'Requested') === 'Requested') {
    if (isDone) return { ...permit, status: { phase: 'Released', endedAt: timestamp(now) } }
    const open = targets.filter((t) => results[t.uid] === undefined)
    const verdicts = open.map((t) => ({ target: t.uid, gate: 'Budget', verdict: 'Granted' as const }))
    return { ...permit, status: { phase: 'Granted', decidedAt: timestamp(now), granted: open.length, verdicts } }
  }
  if (phase === 'Granted' && isDone)
    return { ...permit, status: { ...permit.status, phase: 'Released', endedAt: timestamp(now) } }
  return permit
}

export const silenced = (machine: Machine, at: number): Machine => ({
  ...machine,
  status: {
    ...machine.status,
    conditions: [
      ...(machine.status?.conditions ?? []).filter((c) => c.type !== 'AgentReachable'),
      condition('AgentReachable', 'False', at),
    ],
  },
})

export const heard = (machine: Machine, at: number): Machine => ({
  ...machine,
  status: {
    ...machine.status,
    conditions: [
      ...(machine.status?.conditions ?? []).filter((c) => c.type !== 'AgentReachable'),
      condition('AgentReachable', 'True', at),
    ],
  },
})
