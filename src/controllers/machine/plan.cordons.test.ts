// A node that was drained takes no pods until the work on it has ended, also under another leader of the controllers. And a hold delays how an agent leaves; it skips nothing.
import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { ANNOTATIONS, FINALIZERS, TAINTS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import type { Node } from '#nodes/objects.ts'
import { holdOn } from '#test/support/fleets/holds.ts'
import { SWITCH_OWNER } from './actions.ts'
import type { Heartbeat } from './heartbeats/heartbeats.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'

const NOW = Date.UTC(2026, 0, 5)
const AT = timestamp(NOW - 60_000)
const OWNER = `${SWITCH_OWNER}beacon`

const drained = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'm',
    uid: 'node',
    annotations: {
      [ANNOTATIONS.machineUid]: 'uid',
      [ANNOTATIONS.cordon]: JSON.stringify({ [OWNER]: { reason: 'x', since: AT } }),
    },
  },
  spec: { taints: [{ key: TAINTS.cordon, effect: 'NoSchedule' }] },
  status: { conditions: [{ type: 'Ready', status: 'True', reason: 'x', message: '', lastTransitionTime: AT }] },
} as Node

const permit = (component: object): OperationPermit =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationPermit',
    metadata: { name: 'p', uid: 'p' },
    spec: {
      operations: ['SwitchComponent', 'Drain'],
      component,
      targets: [{ kind: 'Machine', name: 'm', uid: 'uid' }],
      requester: { manager: 'kubenode-componentset' },
      reason: 'x',
      leaseSeconds: 120,
    },
    status: { phase: 'Granted', verdicts: [{ target: 'uid', gate: 'All', verdict: 'Granted' }] },
  }) as unknown as OperationPermit

const slice = {
  component: 'beacon',
  phase: 'Switching' as const,
  permit: 'p',
  machines: ['m'],
  step: 0,
  number: 0,
  startedAt: AT,
}
const claim = { set: 'base', priority: 0, isCurrent: true, slices: [], blocked: [], lastGood: [], components: [] }

const seen = (spec: object, components: readonly object[], more: object = {}): Seen =>
  ({
    machine: {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name: 'm', uid: 'uid', generation: 2, finalizers: [FINALIZERS.machine] },
      spec: { channel: 'Agent', provider: { name: 'p' }, providerID: 'p://m', ...spec },
      status: { nodeRef: { name: 'm', uid: 'node' }, agent: { version: '0.1.0' }, inServiceSince: AT, components },
    } as unknown as Machine,
    node: drained,
    pods: [],
    agentHeartbeat: { kind: 'Heard', agoMs: 1 },
    nodeHeartbeat: { kind: 'Heard', agoMs: 1 },
    host: { kind: 'Host', host: { providerID: 'p://m', machine: 'm', machineUid: 'uid', state: 'Running' } },
    isHostKept: false,
    claims: [],
    marks: [],
    permits: [],
    definitions: [{ spec: { component: 'beacon', version: '1.1.0', disruption: 'Drain', drainOn: 'Always' } }],
    workloads: [],
    refusedFor: new Map(),
    ...more,
  }) as unknown as Seen

const kindsOf = (about: Seen): readonly string[] => plan(about, NOW).actions.map((a) => a.kind)
const running = { name: 'beacon', version: '1.0.0', desired: '1.0.0', attempt: 1, state: 'Healthy', since: AT }
const entry = { name: 'beacon', version: '1.0.0', attempt: 1, setRef: 'base' }

describe('a drained node whose component is removed', () => {
  const claims = [{ ...claim, slices: [slice] }]
  const permits = [permit({ name: 'beacon', version: '' })]
  const report = { ...running, removal: { restarts: true } }

  test('takes no pods while its agent still has to remove it, and takes them again afterwards', () => {
    const before = seen({ components: [entry] }, [report], { claims, permits })
    expect(kindsOf(before)).toEqual(['WriteComponents'])
    expect(kindsOf(seen({ components: [] }, [report], { claims, permits }))).toEqual([])
    expect(kindsOf(seen({ components: [] }, [], { claims, permits }))).toContain('Uncordon')
  })
})

describe('a node that is drained for a switch while the controllers change', () => {
  const ordered = { ...entry, version: '1.1.0', attempt: 2, slice: AT }
  const staged = { ...running, desired: '1.1.0', attempt: 2, state: 'Staged' }
  const claims = [
    { ...claim, components: [{ name: 'beacon', version: '1.1.0' }], slices: [{ ...slice, version: '1.1.0' }] },
  ]
  const pods = [{ metadata: { name: 'web', namespace: 'd', uid: 'web' } }]
  const about = (agentHeartbeat: Heartbeat) =>
    seen({ components: [ordered] }, [staged], {
      claims,
      pods,
      permits: [permit({ name: 'beacon', version: '1.1.0' })],
      agentHeartbeat,
    })

  test('F15 stays cordoned until its agent is heard, and the drain goes on', () => {
    expect(kindsOf(about({ kind: 'Unsure', watchedMs: 5_000 }))).toEqual([])
    expect(kindsOf(about({ kind: 'Heard', agoMs: 1 }))).toEqual(['Drain'])
  })

  test('is opened when its agent is not heard in time: the drain was for nothing', () => {
    expect(kindsOf(about({ kind: 'Unsure', watchedMs: 60_000 }))).toContain('Uncordon')
  })
})

describe('a managed machine that is only to be observed from now on', () => {
  const hold = holdOn('Machine', 'm', { until: timestamp(NOW + 90_000) })
  const observed = (more: object) => seen({ channel: 'Observe', components: [entry] }, [running], more)

  test('keeps its agent and its finalizer while a hold is in force, and says so', () => {
    const { actions, waiting, requeueAfter } = plan(observed({ isHostKept: true, hold }), NOW)
    expect([actions, waiting?.predicate, requeueAfter]).toEqual([[], 'NotHeld', 90_000])
    expect(kindsOf(observed({ isHostKept: true }))).toEqual(['RequestPermit'])
  })
})
