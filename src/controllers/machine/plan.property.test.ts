import { holdOn } from '#test/support/fleets/holds.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { ANNOTATIONS, FIELD_MANAGERS, FINALIZERS, TAINTS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { type Node, type Pod, isNodeReady } from '#nodes/objects.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DELETE_OWNER, type MachineAction, SWITCH_OWNER } from './actions.ts'
import { type Heartbeat, isBeating } from './heartbeats/heartbeats.ts'
import { plan, tokenCheckMs } from './plan.ts'
import { type HostSeen, type Seen, isInService } from './seen.ts'
import { statusOf } from './status.ts'

const NOW = Date.UTC(2026, 0, 5)
const AT = timestamp(NOW - 60_000)

const ready = (status: string) => ({ type: 'Ready', status, reason: 'x', message: '', lastTransitionTime: AT })
const node = (isPending: boolean, owner: string | undefined, status: string): Node =>
  ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'm',
      uid: 'node',
      annotations: owner === undefined ? {} : { [ANNOTATIONS.cordon]: JSON.stringify({ [owner]: { reason: 'x' } }) },
    },
    spec: {
      taints: [
        ...(isPending ? [{ key: TAINTS.componentsPending, effect: 'NoSchedule' }] : []),
        ...(owner === undefined ? [] : [{ key: TAINTS.cordon, effect: 'NoSchedule' }]),
      ],
    },
    status: { conditions: [ready(status)] },
  }) as Node

const nodes = fc.option(
  fc
    .record({
      isPending: fc.boolean(),
      owner: fc.constantFrom(undefined, DELETE_OWNER, `${SWITCH_OWNER}beacon`, 'remedy/x'),
      status: fc.constantFrom('True', 'False', 'Unknown'),
    })
    .map(({ isPending, owner, status }) => node(isPending, owner, status)),
  { nil: undefined },
)

const heartbeats = fc.constantFrom<Heartbeat[]>(
  { kind: 'None' },
  { kind: 'Unsure', watchedMs: 5_000 },
  { kind: 'Unsure', watchedMs: 900_000 },
  { kind: 'Heard', agoMs: 1_000 },
  { kind: 'Heard', agoMs: 900_000 },
)

const host = {
  providerID: 'p://m',
  clientToken: 'uid',
  machineUid: 'uid',
  machine: 'm',
  state: 'Running',
  createdAt: AT,
} as const
const hosts = fc.constantFrom<HostSeen[]>(
  { kind: 'Host', host },
  { kind: 'Host', host: { ...host, state: 'Stopped', address: '10.0.0.2' } },
  { kind: 'Gone' },
  { kind: 'Unknown', why: 'no answer' },
  { kind: 'NotAsked' },
  { kind: 'NoProvider' },
)

const machines = fc
  .record({
    isDeleting: fc.boolean(),
    channel: fc.constantFrom<Machine['spec']['channel'][]>('Agent', 'Observe'),
    hasFinalizer: fc.boolean(),
    isMade: fc.boolean(),
    order: fc.constantFrom(undefined, 'plain', 'ordered'),
    state: fc.constantFrom(undefined, 'Staged', 'Switching', 'Healthy', 'Failed'),
    wasNode: fc.boolean(),
    hadAgent: fc.boolean(),
    isKeyRecorded: fc.boolean(),
  })
  .map(({ isDeleting, channel, hasFinalizer, isMade, order, state, wasNode, hadAgent, isKeyRecorded }): Machine => {
    const entry = {
      name: 'beacon',
      version: '1.1.0',
      attempt: 2,
      ...(order === 'ordered' && { switch: { attempt: 2, permit: 'p' } }),
    }
    const report = { name: 'beacon', version: '1.0.0', desired: '1.1.0', attempt: 2, state, since: AT }
    return {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: {
        name: 'm',
        uid: 'uid',
        generation: 2,
        finalizers: hasFinalizer ? [FINALIZERS.machine] : [],
        ...(isDeleting && { deletionTimestamp: AT }),
        ...(isKeyRecorded && { annotations: { [ANNOTATIONS.agentKey]: JSON.stringify({ uid: 'uid', key: 'k' }) } }),
      },
      spec: {
        channel,
        provider: { name: 'p' },
        ...(isMade && { providerID: 'p://m' }),
        ...(order !== undefined && channel === 'Agent' && { components: [entry] }),
      },
      status: {
        ...(wasNode && { nodeRef: { name: 'm', uid: 'node' } }),
        ...(hadAgent && { agent: { version: '0.1.0' } }),
        ...(state !== undefined && { components: [report] }),
      },
    } as Machine
  })

const permit = (name: string, operation: string, manager: string, phase: string): OperationPermit =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationPermit',
    metadata: { name },
    spec: {
      operations: [operation],
      targets: [{ kind: 'Machine', name: 'm', uid: 'uid' }],
      requester: { manager },
      reason: 'x',
      recovery: false,
      leaseSeconds: 120,
    },
    status: {
      phase,
      decidedAt: AT,
      verdicts: [{ target: 'uid', gate: 'All', verdict: phase === 'Granted' ? 'Granted' : 'Waiting' }],
    },
  }) as OperationPermit

const phases = fc.constantFrom(undefined, 'Requested', 'Granted', 'Denied', 'Expired')
const definition = (disruption: string) =>
  ({
    spec: { component: 'beacon', version: '1.1.0', type: 'Package', disruption, drainOn: 'Always' },
  }) as MachineComponent
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'd', uid: 'web' } } as Pod
const hold = holdOn('Machine', 'm', { until: timestamp(NOW + 90_000) })

const slice = {
  component: 'beacon',
  version: '1.1.0',
  phase: 'Switching' as const,
  permit: 'p',
  machines: ['m'],
  step: 0,
  number: 0,
  startedAt: AT,
}
const claim = {
  set: 'base',
  priority: 0,
  isCurrent: true,
  components: [{ name: 'beacon', version: '1.1.0' }],
  slices: [slice],
  blocked: [],
  lastGood: [],
}

const worlds = fc
  .record({
    machine: machines,
    node: nodes,
    agentHeartbeat: heartbeats,
    nodeHeartbeat: heartbeats,
    host: hosts,
    isHostKept: fc.boolean(),
    switching: phases,
    removal: phases,
    disruption: fc.constantFrom('None', 'Restart', 'Drain', 'Reboot'),
    pods: fc.constantFrom<Seen['pods'][]>(undefined, [], [pod]),
    hasClaim: fc.boolean(),
  })
  .map(({ switching, removal, disruption, hasClaim, ...rest }): Seen => ({
    ...rest,
    hold: undefined,
    joinToken: undefined,
    claims: hasClaim ? [claim] : [],
    marks: [],
    refusedFor: new Map(),
    permits: [
      ...(switching === undefined ? [] : [permit('p', 'SwitchComponent', FIELD_MANAGERS.componentSet, switching)]),
      ...(removal === undefined ? [] : [permit('r', 'ScaleIn', FIELD_MANAGERS.machine, removal)]),
    ],
    definitions: [definition(disruption)],
    workloads: [],
  }))

const kindsOf = (seen: Seen): readonly MachineAction['kind'][] => plan(seen, NOW).actions.map((a) => a.kind)
const given = (seen: Seen): number =>
  plan(seen, NOW).actions.reduce((n, a) => n + (a.kind === 'WriteComponents' ? a.given.length : 0), 0)
const holds = (check: (seen: Seen) => void) => fc.assert(fc.property(worlds, check), { numRuns: 1_500 })

const TOUCHES_NODE: readonly MachineAction['kind'][] = [
  'SyncNode',
  'Cordon',
  'Uncordon',
  'Drain',
  'ReplacePods',
  'HandBackNode',
  'DeleteNode',
]
const DISRUPTS: readonly MachineAction['kind'][] = [
  'Cordon',
  'Drain',
  'ReplacePods',
  'Uninstall',
  'DeleteHost',
  'DeleteNode',
]

/** A report, a heartbeat or a key on record: something of KubeNode may be on its host. */
const mayHaveAgent = ({ machine: { metadata, status }, agentHeartbeat }: Seen): boolean =>
  status?.agent !== undefined ||
  metadata.annotations?.[ANNOTATIONS.agentKey] !== undefined ||
  agentHeartbeat.kind !== 'None'

const LEAVES: readonly MachineAction['kind'][] = [...DISRUPTS, 'OrderToLeave', 'HandBackNode', 'RemoveFinalizer']
const leaving = (seen: Seen) => kindsOf(seen).filter((k) => LEAVES.includes(k))

describe('whatever the machine controller sees', () => {
  test('what is only observed is never touched', () => {
    holds((seen) => {
      if (seen.machine.spec.channel !== 'Observe') return
      expect(
        kindsOf(seen).filter((k) => TOUCHES_NODE.includes(k) || k === 'WriteComponents' || k === 'Provision'),
      ).toEqual([])
    })
  })

  test('nothing new is begun while it is held', () => {
    holds((world) => {
      const seen = { ...world, hold }
      if (seen.machine.spec.channel === 'Observe') return
      expect(given(seen)).toBe(0)
      const isGone = seen.host.kind === 'Gone' && !seen.isHostKept
      if (isGone) return
      expect(kindsOf(seen).filter((k) => k === 'Provision' || k === 'RequestPermit' || DISRUPTS.includes(k))).toEqual(
        [],
      )
    })
  })

  test('unknown never disrupts: a machine that is silent is given no order and is not emptied for one', () => {
    holds((seen) => {
      if (seen.machine.metadata.deletionTimestamp !== undefined || isBeating(seen.agentHeartbeat) !== false) return
      expect(given(seen)).toBe(0)
      expect(kindsOf(seen).filter((k) => k === 'Drain' || k === 'Cordon')).toEqual([])
    })
  })

  test('an order is given only under a grant, and to no machine that has to be drained first and is not', () => {
    holds((seen) => {
      if (given(seen) === 0) return
      expect(seen.permits.find((p) => p.metadata.name === 'p')?.status?.phase).toBe('Granted')
      const disruption = seen.definitions[0]?.spec.disruption
      if (disruption === 'Drain' || disruption === 'Reboot') expect(seen.pods).toEqual([])
    })
  })

  test('one in service leaves only under a grant, and not while its provider cannot be asked', () => {
    holds((seen) => {
      const { machine, host: said } = seen
      if (machine.metadata.deletionTimestamp === undefined || machine.spec.channel !== 'Agent' || !isInService(seen))
        return
      if (said.kind === 'Gone' && !seen.isHostKept) return
      if (seen.isHostKept && !mayHaveAgent(seen)) return
      const isGranted = seen.permits.some((p) => p.metadata.name === 'r' && p.status?.phase === 'Granted')
      const isKnown = said.kind === 'Host' || seen.isHostKept
      const harm = leaving(seen)
      if (!isGranted || !isKnown) expect(harm).toEqual([])
    })
  })

  const isRemovalGranted = ({ permits }: Seen) =>
    permits.some((p) => p.metadata.name === 'r' && p.status?.phase === 'Granted')

  test('one in service leaves only under a grant also when its provider is no longer configured, and its host stays', () => {
    let left = 0
    holds((world) => {
      const { provider: _, ...spec } = world.machine.spec
      const seen: Seen = {
        ...world,
        machine: { ...world.machine, spec },
        isHostKept: false,
        host: { kind: 'NotAsked' },
      }
      const { metadata, status } = seen.machine
      if (metadata.deletionTimestamp === undefined || spec.channel !== 'Agent') return
      if (status?.nodeRef === undefined || !isInService(seen) || !mayHaveAgent(seen)) return
      if (!isRemovalGranted(seen)) expect(leaving(seen)).toEqual([])
      expect(kindsOf(seen)).not.toContain('DeleteHost')
      left += leaving(seen).length
    })
    expect(left).toBeGreaterThan(0)
  })

  test('a host that stays and never had an agent goes in one pass without a permit, and nothing on it is disrupted', () => {
    let left = 0
    holds((seen) => {
      const { metadata, spec } = seen.machine
      if (metadata.deletionTimestamp === undefined || metadata.finalizers?.length === 0 || spec.channel !== 'Agent')
        return
      if (!seen.isHostKept || mayHaveAgent(seen)) return
      const kinds = kindsOf(seen)
      expect(kinds).toContain('RemoveFinalizer')
      expect(kinds.filter((k) => k !== 'DeleteHost' && (DISRUPTS.includes(k) || k === 'RequestPermit'))).toEqual([])
      const isMarked = Object.keys(seen.node?.metadata.annotations ?? {}).length > 0
      if (isMarked) left += kinds.filter((k) => k === 'HandBackNode').length
    })
    expect(left).toBeGreaterThan(0)
  })

  test('a Node that only has the name of a machine without a provider is not touched', () => {
    holds((world) => {
      const { provider: _, ...spec } = world.machine.spec
      const { nodeRef: __, ...status } = world.machine.status ?? {}
      const machine = { ...world.machine, spec, status }
      const seen: Seen = { ...world, machine, isHostKept: false, host: { kind: 'NotAsked' } }
      if (seen.machine.metadata.deletionTimestamp === undefined) return
      expect(kindsOf(seen).filter((k) => TOUCHES_NODE.includes(k))).toEqual([])
    })
  })

  test('a host that its provider does not know is not gone while its agent is heard and has components', () => {
    holds((world) => {
      const seen: Seen = { ...world, isHostKept: false, host: { kind: 'Gone' } }
      const { metadata, spec } = seen.machine
      if (metadata.deletionTimestamp === undefined || spec.channel !== 'Agent' || !isInService(seen)) return
      if (isBeating(seen.agentHeartbeat) !== true || (spec.components ?? []).length === 0) return
      expect(leaving(seen)).toEqual([])
    })
  })

  test('a host that stays keeps its Node as long as it reports', () => {
    holds((seen) => {
      if (!seen.isHostKept || !isNodeReady(seen.node) || isBeating(seen.nodeHeartbeat) === false) return
      expect(kindsOf(seen)).not.toContain('DeleteNode')
    })
  })

  test('none waits without a reason', () => {
    const moves = new Set<string | undefined>(['Ready', 'Updating', 'Repairing', 'Deleting', 'Draining'])
    holds((seen) => {
      const { phase, waitingFor } = statusOf(seen, plan(seen, NOW), [], NOW)
      if (!moves.has(phase)) expect(waitingFor?.seen).toBeTruthy()
    })
  })

  test('its phase is never better than its condition Ready', () => {
    holds((seen) => {
      const { phase, conditions } = statusOf(seen, plan(seen, NOW), [], NOW)
      const ready = conditions?.find((c) => c.type === 'Ready')?.status
      if (phase === 'Ready') expect(ready).toBe('True')
      if (phase === 'NotReady') expect(ready).toBe('False')
    })
  })

  test('one whose first installation is refused says why in its condition Ready', () => {
    let installing = 0
    holds((world) => {
      const { spec, status } = world.machine
      const components = (spec.components ?? []).map(({ name, version, attempt }) => {
        const refused = { state: 'Fetching', reason: 'HostUnsuitable', message: 'KN8019: too little disk' } as const
        return { name, attempt, desired: version, since: '2026-01-05T02:00:00Z', ...refused }
      })
      const seen: Seen = { ...world, machine: { ...world.machine, status: { ...status, components } } }
      const { phase, conditions } = statusOf(seen, plan(seen, NOW), [], NOW)
      if (phase !== 'Installing' || components.length === 0) return
      installing += 1
      const ready = conditions?.find((c) => c.type === 'Ready')
      if (ready?.reason !== 'AcceptanceFailed')
        expect(ready).toMatchObject({
          status: 'False',
          reason: 'HostUnsuitable',
          message: expect.stringContaining('KN8019') as unknown,
        })
    })
    expect(installing).toBeGreaterThan(0)
  })

  test('one with an agent and without a provider reports that no program will continue it', () => {
    holds((world) => {
      const { provider: _, ...spec } = world.machine.spec
      const seen = { ...world, machine: { ...world.machine, spec } }
      if (spec.channel !== 'Agent' || seen.machine.metadata.deletionTimestamp !== undefined) return
      const { waitingFor, conditions } = statusOf(seen, plan(seen, NOW), [], NOW)
      expect(waitingFor?.predicate).toBe('ProviderNamed')
      expect(conditions).toContainEqual(expect.objectContaining({ type: 'Stalled', status: 'True' }))
    })
  })

  test('equal worlds give equal statuses, and one that was written is not written again', () => {
    holds((seen) => {
      const planned = plan(seen, NOW)
      const first = statusOf(seen, planned, [], NOW)
      const { components: _, ...own } = first
      const machine = { ...seen.machine, status: { ...seen.machine.status, ...own } } as Machine
      const after = {
        ...seen,
        machine:
          first.components === undefined
            ? machine
            : { ...machine, status: { ...machine.status, components: first.components } },
      }
      const again = statusOf(after, plan(after, NOW + 1_000), [], NOW + 1_000)
      if (first.phase === again.phase) expect(again).toEqual(first)
      // The first status may add information, such as the Node's identity, and move the phase once, but no further.
      else {
        const third = { ...after, machine: { ...after.machine, status: { ...after.machine.status, ...again } } } as Seen
        expect(statusOf(third, plan(third, NOW + 2_000), [], NOW + 2_000).phase).toBe(again.phase)
      }
    })
  })
})

test.each([
  [Number.NaN, 250],
  [-5_000, 250],
  [3_000, 250],
  [60_000, 3_000],
  [86_400_000, 10_000],
])('a machine that has waited %i ms for its join token checks again in %i ms', (ageMs, checkMs) => {
  expect(tokenCheckMs(ageMs)).toBe(checkMs)
})
