// What every rollout in a test is made of: machines, nodes, components, sets and holds; and for the driver in memory one pure turn of an agent (the table that all
// agents go by) and of a Defender that grants everything.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { ComponentOrder, ComponentStatus, Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { HoldEffect, OperationalHold } from '#api/kinds/operational-hold.ts'
import { hasOpenSwitch } from '#api/protocol/component-order.ts'
import { type ComponentState, type SwitchFacts, isSwitching, nextComponentState } from '#api/protocol/switch.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { componentObjectName } from '#lib/names.ts'
import type { Node } from '#nodes/objects.ts'

export const POOL = { 'kubenode.io/pool': 'workers' }
export const START = Date.parse('2026-01-05T10:00:00Z')
export const GOOD = ['1.0.0', '1.1.0', '1.2.0'] as const
/** Its probes fail on every machine. */
export const BAD = '6.6.6'

export interface MachineOptions {
  readonly versions?: Readonly<Record<string, string>>
  readonly zone?: string
  readonly rack?: string
  readonly class?: string
  readonly labels?: Readonly<Record<string, string>>
  /** Since when it has been at rest. */
  readonly at?: number
}

/** A machine that works, with these versions running. */
export function workingMachine(
  name: string,
  { versions = {}, zone, rack, class: cls, labels = POOL, at }: MachineOptions = {},
): Machine {
  const components = Object.entries(versions)
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: { name, uid: `uid-${name}`, labels },
    spec: {
      channel: 'Agent',
      ...defined({ zone, rack, class: cls }),
      components: components.map(([c, version]) => ({ name: c, version, setRef: 'base', attempt: 1 })),
    },
    status: {
      phase: 'Ready',
      nodeRef: { name, uid: `node-${name}` },
      conditions: [condition('AgentReachable', 'True', at)],
      components: components.map(([c, version]) => ({
        name: c,
        version,
        desired: version,
        state: 'Healthy',
        since: timestamp(at ?? START - 3_600_000),
        attempt: 1,
      })),
    },
  }
}

export const condition = (type: string, status: 'True' | 'False', at = START) => ({
  type,
  status,
  reason: 'AsDeclared',
  message: '',
  lastTransitionTime: timestamp(at),
})

/** On the set, unless a test says otherwise. */
export const holdOf = (
  effect: HoldEffect,
  now: number,
  { name = `hold-${effect.toLowerCase()}`, forMs = 3_600_000, ...spec }: HoldWish = {},
): OperationalHold => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'OperationalHold',
  metadata: { name, creationTimestamp: timestamp(now) },
  spec: {
    target: { kind: 'MachineComponentSet', name: 'base' },
    effect,
    reason: 'a story',
    author: 'ada',
    until: timestamp(now + forMs),
    ...spec,
  },
})

export interface HoldWish extends Partial<OperationalHold['spec']> {
  readonly name?: string
  readonly forMs?: number
}

export const readyNode = (name: string, at = START): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, uid: `node-${name}` },
  status: { conditions: [condition('Ready', 'True', at)] },
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

export type Quality = (
  component: string,
  version: string,
  machine: string,
) => 'good' | 'probe fails' | 'breaks' | 'refused'

/** What an agent says of a version that it does not accept. */
const REFUSAL = 'KN8013: cannot install it: it has 0 of 1 needed signatures'

/** One move of the agent with each component, and only moves that the table of switches allows: it is what every agent goes by. */
export function agentTurn(
  machine: Machine,
  isGranted: (permit: string) => boolean,
  quality: Quality,
  now: number,
): Machine {
  const reports = machine.status?.components ?? []
  const isInstalling = machine.status?.phase === 'Installing'
  const next = (machine.spec.components ?? []).map((order): ComponentStatus => {
    const report = reports.find((r) => r.name === order.name)
    const isKnown = report?.desired === order.version && report.attempt === order.attempt
    if (report === undefined || !(isKnown || isSwitching(report.state))) return retargeted(order, report, now)
    const desired = report.desired ?? ''
    const how = quality(order.name, desired, machine.metadata.name ?? '')
    if (report.state === 'Fetching' && how === 'refused') return { ...report, message: REFUSAL }
    const state = moved(report.state, {
      verified: how !== 'refused',
      orderForAttempt: order.switch?.attempt === report.attempt,
      permitGrantedNow: order.switch !== undefined && isGranted(order.switch.permit),
      neverInstalled: isInstalling,
      nodePendingTaint: isInstalling,
      versionRuns: true,
      probesHeld: how === 'good',
      previousRuns: how !== 'breaks',
      nothingRuns: how === 'breaks',
    })
    if (state === report.state) return report
    const { drifted: _, ...fresh } = report
    return { ...(state === 'Healthy' ? { ...fresh, version: desired } : report), since: timestamp(now), state }
  })
  return { ...machine, status: { ...machine.status, components: next } }
}

/** In this order: what starts is not rolled back in the same moment. */
const MOVES = ['stage', 'switch', 'firstInstall', 'started', 'commit', 'rollBack', 'break'] as const

function moved(state: ComponentState, facts: SwitchFacts): ComponentState {
  for (const event of MOVES) {
    const step = nextComponentState(state, event, facts)
    if (step.ok) return step.state
  }
  return state
}

function retargeted(order: ComponentOrder, report: ComponentStatus | undefined, now: number): ComponentStatus {
  const isInPlace = report?.version === order.version && report.drifted === undefined
  return {
    name: order.name,
    desired: order.version,
    attempt: order.attempt,
    since: timestamp(now),
    ...defined({ version: report?.version, drifted: report?.drifted, healthyBefore: report?.healthyBefore }),
    state: isInPlace ? 'Healthy' : 'Fetching',
  }
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

const reachable =
  (status: 'True' | 'False') =>
  (machine: Machine, at: number): Machine => ({
    ...machine,
    status: {
      ...machine.status,
      conditions: [
        ...(machine.status?.conditions ?? []).filter((c) => c.type !== 'AgentReachable'),
        condition('AgentReachable', status, at),
      ],
    },
  })
export const silenced = reachable('False')
export const heard = reachable('True')

export const isSilent = ({ status }: Machine): boolean =>
  status?.conditions?.some((c) => c.type === 'AgentReachable' && c.status !== 'True') === true

/** Between two versions, or ordered to be. */
export const isAtWork = ({ spec, status }: Machine): boolean =>
  hasOpenSwitch({ spec, status }) || status?.components?.some((c) => isSwitching(c.state)) === true
