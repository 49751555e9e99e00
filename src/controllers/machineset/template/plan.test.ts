// How a changed template reaches the machines of its set.
import { describe, expect, test } from 'vitest'
import { FINALIZERS } from '#api/names.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { timestamp } from '#lib/clock.ts'
import { plan } from '../plan.ts'
import type { Seen } from '../seen.ts'
import { statusOf } from '../status.ts'
import { newRecord, takenFrom } from './taken.ts'

const NOW = Date.UTC(2026, 0, 5)
const LABELS = { pool: 'w' }
const OWNER = { apiVersion: 'kubenode.io/v1alpha1', kind: 'MachineSet', name: 'w', uid: 'set', controller: true }
const EVICT = [{ key: 'gone', effect: 'NoExecute' as const }]

type Fields = Pick<Machine['spec'], 'labels' | 'annotations' | 'taints'>
const setOf = (fields: Fields, replicas: number, maxUnavailable = 1): MachineSet => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineSet',
  metadata: { name: 'w', uid: 'set', generation: 3, finalizers: [FINALIZERS.machineSet] },
  spec: {
    replicas,
    selector: { matchLabels: LABELS },
    template: {
      metadata: { labels: LABELS },
      spec: { provider: { name: 'process' }, channel: 'Agent', ...fields },
    },
    deleteOrder: 'Unhealthy',
    maxUnavailable,
  },
})

const machineOf = (id: string, fields: Fields, isReady = true): Machine =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: {
      name: id,
      uid: `uid-${id}`,
      generation: 1,
      labels: LABELS,
      ownerReferences: [OWNER],
      annotations: { ...newRecord(setOf(fields, 0)) },
    },
    spec: { channel: 'Agent', provider: { name: 'process' }, ...fields },
    status: {
      observedGeneration: 1,
      phase: 'Ready',
      nodeRef: { name: id, uid: `node-${id}` },
      conditions: [
        {
          type: 'Ready',
          status: isReady ? 'True' : 'False',
          reason: 'X',
          message: '',
          lastTransitionTime: timestamp(NOW - 60_000),
        },
      ],
    },
  }) as unknown as Machine

const seenOf = (set: MachineSet, machines: readonly Machine[], permits: readonly OperationPermit[] = []): Seen => ({
  set,
  machines,
  permits,
  refusedFor: new Map(),
  hold: undefined,
  others: [],
})

const granted = (id: string): OperationPermit =>
  ({
    metadata: { name: `template-${id}-set-3-0`, creationTimestamp: timestamp(NOW) },
    spec: {
      operations: ['Drain'],
      targets: [{ kind: 'Machine', name: id, uid: `uid-${id}` }],
      requester: { manager: 'm' },
      reason: 'r',
      recovery: false,
      leaseSeconds: 120,
    },
    status: {
      phase: 'Granted',
      decidedAt: timestamp(NOW),
      leaseExpiresAt: timestamp(NOW + 110_000),
      verdicts: [{ target: `uid-${id}`, gate: 'All', verdict: 'Granted' }],
    },
  }) as unknown as OperationPermit

const done = (set: MachineSet, m: Machine, observed = true): Machine => {
  const { machine } = takenFrom(set, m)
  const { status } = machine
  return {
    ...machine,
    metadata: { ...machine.metadata, generation: 2 },
    status: { ...status, observedGeneration: observed ? 2 : 1 },
  }
}
const acts = (seen: Seen) =>
  plan(seen, NOW).actions.map((a) => ('machine' in a ? `${a.kind} ${a.machine.metadata.name}` : a.kind))
const many = (n: number, fields: Fields = {}) =>
  Array.from({ length: n }, (_, i) => machineOf(`m-${String(i).padStart(2, '0')}`, fields))

describe('labels and taints that keep pods away', () => {
  const set = setOf({ labels: { disk: 'nvme' }, taints: [{ key: 'a', effect: 'NoSchedule' }] }, 50)
  const all = many(50)
  const [first = machineOf('x', {}), ...rest] = all

  test('reach one machine first', () => expect(acts(seenOf(set, all))).toEqual(['TakeTemplate m-00']))

  test('start with a machine that works', () =>
    expect(acts(seenOf(set, [machineOf('a', {}, false), ...all.slice(1)]))).toEqual(['TakeTemplate m-01']))

  test('wait until the first machine has them', () =>
    expect(acts(seenOf(set, [done(set, first, false), ...rest]))).toEqual([]))

  test('then reach a bounded number at once', () => {
    const seen = seenOf(set, [done(set, first), ...rest])
    expect(acts(seen)).toHaveLength(20)
    expect(statusOf(seen, plan(seen, NOW), undefined, NOW).outdatedReplicas).toBe(49)
  })

  test('stop when machines with them are not Ready', () => {
    const bad = done(set, machineOf('m-00', {}, false))
    const { actions, waiting } = plan(seenOf(set, [bad, ...rest]), NOW)
    expect(actions).toEqual([])
    expect(waiting).toMatchObject({
      predicate: 'WithinUnavailable',
      seen: '1 machine with the labels and taints of the template not Ready (limit 1)',
    })
  })

  test('also reach machines while others are missing', () =>
    expect(acts(seenOf(setOf({ labels: { a: '1' } }, 3), many(2)))).toEqual(['Create', 'TakeTemplate m-00']))

  test('leave a machine alone that is only observed', () => {
    const [m = machineOf('x', {})] = many(1)
    expect(acts(seenOf(setOf({ labels: { a: '1' } }, 1), [{ ...m, spec: { ...m.spec, channel: 'Observe' } }]))).toEqual(
      [],
    )
  })
})

describe('a taint that evicts pods', () => {
  const set = setOf({ taints: EVICT }, 3)
  const [a = machineOf('x', {}), b = machineOf('x', {}), c = machineOf('x', {})] = many(3)

  test('needs a permit for the first machine', () => {
    const [action] = plan(seenOf(set, [a, b, c]), NOW).actions
    expect(action).toMatchObject({
      kind: 'RequestPermit',
      permit: 'template-m-00-set-3-0',
      request: { operations: ['Drain'], targets: [{ name: 'm-00' }] },
    })
  })

  test('is written under the permit, and the permit lasts until the Node has it', () => {
    expect(acts(seenOf(set, [a, b, c], [granted('m-00')]))).toEqual(['TakeTemplate m-00'])
    expect(acts(seenOf(set, [done(set, a, false), b, c], [granted('m-00')]))).toEqual([])
    const next = plan(seenOf(set, [done(set, a), b, c], [granted('m-00')]), NOW).actions
    expect(next.find((x) => x.kind === 'ReportResult')).toMatchObject({ target: 'uid-m-00', result: 'Succeeded' })
  })

  test('goes on with the next machine once the first is through', () =>
    expect(acts(seenOf(set, [done(set, a), b, c]))).toEqual(['RequestPermit']))

  test('waits while maxUnavailable is reached', () => {
    const down = machineOf('m-02', {}, false)
    const { actions, waiting } = plan(seenOf(set, [done(set, a), b, down]), NOW)
    expect(actions).toEqual([])
    expect(waiting).toMatchObject({ predicate: 'WithinUnavailable' })
  })

  test('of a template that changed back gives its permit back', () => {
    const [action] = plan(seenOf(setOf({}, 3), [a, b, c], [granted('m-00')]), NOW).actions
    expect(action).toMatchObject({ kind: 'ReportResult', target: 'uid-m-00' })
  })

  test('needs no permit on a machine that never served', () => {
    const fresh = { ...a, status: { ...a.status, phase: 'Installing' } } as Machine
    expect(acts(seenOf(setOf({ taints: EVICT }, 1), [fresh]))).toEqual(['TakeTemplate m-00'])
  })
})
