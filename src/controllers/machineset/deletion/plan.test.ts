import { describe, expect, test } from 'vitest'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { ANNOTATIONS, FINALIZERS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import type { MachineSetAction } from '../actions.ts'
import { plan } from '../plan.ts'
import type { OtherSet, Seen } from '../seen.ts'
import { statusOf } from '../status.ts'
import { OTHERS_REQUEUE_MS, SUCCESSION_GRACE_MS } from './successors.ts'
import { defined } from '#lib/defined.ts'

const NOW = Date.UTC(2026, 0, 5)
const POOL = { pool: 'w' }

interface SetInput {
  readonly name?: string
  readonly replicas?: number
  readonly isGoing?: boolean
  readonly zone?: string
  readonly finalizers?: readonly string[]
  readonly annotations?: Readonly<Record<string, string>>
  readonly status?: MachineSet['status']
}

/** A set reconciled in its current generation, unless the status is given. */
const set = ({
  name = 'old',
  replicas = 3,
  isGoing = false,
  zone = 'a',
  finalizers,
  annotations,
  status = { observedGeneration: 2 },
}: SetInput = {}): MachineSet => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineSet',
  metadata: {
    name,
    uid: name,
    generation: 2,
    finalizers: finalizers ?? [FINALIZERS.machineSet],
    ...defined({ annotations }),
    ...(isGoing && { deletionTimestamp: timestamp(NOW) }),
  },
  spec: {
    replicas,
    selector: { matchLabels: POOL },
    template: { metadata: { labels: POOL }, spec: { provider: { name: 'process' }, channel: 'Agent', zone } },
    deleteOrder: 'Unhealthy',
    maxUnavailable: 1,
  },
  status,
})

function machine(
  name: string,
  owner = 'old',
  wish: {
    readonly zone?: string
    readonly isReady?: boolean
    readonly isDeleting?: boolean
    readonly channel?: 'Observe'
  } = {},
): Machine {
  const { zone = 'a', isReady = true, isDeleting = false, channel = 'Agent' } = wish
  const status = isReady ? 'True' : 'False'
  return {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: {
      name,
      uid: `uid-${name}`,
      labels: POOL,
      ownerReferences: [
        { apiVersion: 'kubenode.io/v1alpha1', kind: 'MachineSet', name: owner, uid: owner, controller: true },
      ],
      ...(isDeleting && { deletionTimestamp: timestamp(NOW) }),
    },
    spec: { channel, provider: { name: 'process' }, zone },
    status: {
      phase: 'Ready',
      conditions: [{ type: 'Ready', status, reason: 'X', message: '', lastTransitionTime: timestamp(NOW - 60_000) }],
    },
  }
}

const permit = (name: string, phase: 'Requested' | 'Granted'): OperationPermit => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'OperationPermit',
  metadata: { name: `scalein-${name}-old-2-0` },
  spec: {
    operations: ['ScaleIn'],
    targets: [{ kind: 'Machine', name, uid: `uid-${name}` }],
    requester: { manager: 'm' },
    reason: 'r',
    recovery: false,
    leaseSeconds: 120,
  },
  status: {
    phase,
    decidedAt: timestamp(NOW),
    verdicts: [{ target: `uid-${name}`, gate: 'All', verdict: phase === 'Granted' ? 'Granted' : 'Waiting' }],
  },
})

const seen = (
  of: MachineSet,
  machines: readonly Machine[],
  others: readonly OtherSet[] = [],
  permits: readonly OperationPermit[] = [],
): Seen => ({
  set: of,
  machines,
  refusedFor: new Map(),
  permits,
  hold: undefined,
  others,
})
const other = (wish: SetInput, machines: readonly Machine[] = []): OtherSet => ({
  set: set({ name: 'new', ...wish }),
  machines,
})

const LEAVES = { [ANNOTATIONS.clusterLeaves]: 'true' }

function say(a: MachineSetAction): string {
  if (a.kind === 'HandOver') return `HandOver ${a.machine.metadata.name} to ${a.to.metadata.name}`
  if (a.kind === 'ReportResult') return `ReportResult ${a.target} ${a.result}`
  if (a.kind === 'RequestPermit') return `RequestPermit ${a.request.targets[0]?.name}`
  if ('machine' in a) return `${a.kind} ${a.machine.metadata.name}`
  return a.kind === 'Create' ? `Create ${a.count}` : a.kind
}
const said = (s: Seen, now = NOW): readonly string[] => plan(s, now).actions.map(say)

const three = ['a', 'b', 'c'].map((n) => machine(n))
const going = set({ isGoing: true })

describe('a set that is being deleted', () => {
  const cases: Readonly<Record<string, readonly [Seen, readonly string[]]>> = {
    'F41 hands its machines over to a set that can take them': [
      seen(going, three, [other({})]),
      ['HandOver a to new', 'HandOver b to new', 'HandOver c to new'],
    ],
    'hands over only what does on the same host': [
      seen(going, [machine('a'), machine('b', 'old', { zone: 'b' })], [other({})]),
      ['HandOver a to new'],
    ],
    'shares its machines out to those that lack most': [
      seen(going, three, [other({ name: 'n1', replicas: 1 }), other({ name: 'n2', replicas: 2 })]),
      ['HandOver a to n2', 'HandOver b to n1', 'HandOver c to n2'],
    ],
    'hands nothing over to a set that is being deleted too': [
      seen(going, [machine('a')], [other({ isGoing: true })]),
      ['RequestPermit a'],
    ],
    'gives the permit back for a machine that it hands over': [
      seen(going, [machine('a')], [other({})], [permit('a', 'Granted')]),
      ['ReportResult uid-a Released', 'HandOver a to new'],
    ],
    'asks for permits where no set takes them': [
      seen(going, three),
      ['RequestPermit a', 'RequestPermit b', 'RequestPermit c'],
    ],
    'removes under a grant': [seen(going, [machine('a')], [], [permit('a', 'Granted')]), ['Delete a']],
    'waits for machines that are on their way out': [seen(going, [machine('a', 'old', { isDeleting: true })]), []],
    'ends when none is left': [seen(going, []), ['RemoveFinalizer']],
    'reports its last permit before it ends': [
      seen(going, [], [], [permit('a', 'Granted')]),
      ['ReportResult uid-a Succeeded', 'RemoveFinalizer'],
    ],
    'lets garbage collection take the owner off where it shall orphan them': [
      seen(set({ isGoing: true, finalizers: [FINALIZERS.machineSet, 'orphan'] }), three),
      ['RemoveFinalizer'],
    ],
    'keeps its machines without an owner where its spec says so': [
      seen(
        set({ isGoing: true, annotations: { [ANNOTATIONS.keepMachines]: 'true' } }),
        three,
        [],
        [permit('a', 'Granted')],
      ),
      ['ReportResult uid-a Released', 'Release a', 'Release b', 'Release c'],
    ],
    'where they shall stay, lets go those that garbage collection deletes, and waits for those that it removes itself':
      [
        seen(
          set({ isGoing: true, annotations: { [ANNOTATIONS.keepMachines]: 'true' } }),
          [machine('a', 'old', { isDeleting: true }), machine('b', 'old', { isDeleting: true })],
          [],
          [permit('a', 'Granted')],
        ),
        ['Release b'],
      ],
    'asks for all at once where its cluster leaves, whatever git declares and other sets select': [
      { ...seen(set({ isGoing: true, annotations: LEAVES }), three, [other({})]), isDeclared: true },
      ['RequestPermit a', 'RequestPermit b', 'RequestPermit c'],
    ],
    'removes under a grant where its cluster leaves': [
      seen(set({ isGoing: true, annotations: LEAVES }), [machine('a')], [], [permit('a', 'Granted')]),
      ['Delete a'],
    ],
    'lets go what is only observed where its cluster leaves': [
      seen(set({ isGoing: true, annotations: LEAVES }), [machine('a', 'old', { channel: 'Observe' }), machine('b')]),
      ['Release a'],
    ],
    'lets go what is only observed': [seen(going, [machine('a', 'old', { channel: 'Observe' })]), ['Release a']],
    'where other hosts replace it, lets one leave at first': [
      seen(going, three, [other({ zone: 'b' })]),
      ['RequestPermit a'],
    ],
    'where other hosts replace it, waits for them': [
      seen(
        going,
        [machine('a'), machine('b')],
        [other({ zone: 'b' }, [machine('n', 'new', { zone: 'b', isReady: false })])],
      ),
      [],
    ],
    'where other hosts replace it, lets the next leave when one is Ready': [
      seen(going, [machine('a'), machine('b')], [other({ zone: 'b' }, [machine('n', 'new', { zone: 'b' })])]),
      ['RequestPermit a'],
    ],
    'lets go what does not serve anyway': [
      seen(going, [machine('a'), machine('b', 'old', { isReady: false })], [other({ zone: 'b' })]),
      ['RequestPermit b'],
    ],
  }
  test.each(Object.entries(cases))('%s', (_, [s, actions]) => expect(said(s)).toEqual(actions))

  test('waits a while for the other half of a rename, across restarts, and no longer', () => {
    const fresh = set({ isGoing: true, status: { observedGeneration: 1 } })
    const first = plan(seen(fresh, three), NOW)
    expect([first.actions, first.waiting?.predicate, first.requeueAfter]).toEqual([
      [],
      'Succession',
      SUCCESSION_GRACE_MS,
    ])
    const status = statusOf(seen(fresh, three), first, undefined, NOW)
    const later = seen({ ...fresh, status }, three)
    expect(said(later, NOW + SUCCESSION_GRACE_MS - 1)).toEqual([])
    expect(said(later, NOW + SUCCESSION_GRACE_MS)).toHaveLength(3)
    const after = statusOf(later, plan(later, NOW + SUCCESSION_GRACE_MS), undefined, NOW + SUCCESSION_GRACE_MS)
    expect(said(seen({ ...fresh, status: after }, three), NOW + SUCCESSION_GRACE_MS)).toHaveLength(3)
  })

  test('a handover to a set that turns out to be deleted too does not end the wait', () => {
    const fresh = set({ isGoing: true, status: { observedGeneration: 1 } })
    const handing = seen(fresh, three, [other({})])
    const status = statusOf(handing, plan(handing, NOW), undefined, NOW)
    const later = seen({ ...fresh, status }, three, [other({ isGoing: true })])
    expect(said(later, NOW + SUCCESSION_GRACE_MS - 1)).toEqual([])
    expect(said(later, NOW + SUCCESSION_GRACE_MS)).toHaveLength(3)
  })

  test('a machine that has another owner by now is not reported as removed', () => {
    const moved = machine('a', 'new')
    const s = { ...seen(going, [], [], [permit('a', 'Granted')]), elsewhere: new Map([['uid-a', moved]]) }
    expect(said(s)).toEqual(['ReportResult uid-a Released', 'RemoveFinalizer'])
  })

  test('says how much of it is left', () => {
    const s = seen(going, three)
    const { conditions } = statusOf(s, plan(s, NOW), undefined, NOW)
    expect(conditions?.find((c) => c.type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'Deleting',
      message: expect.stringContaining('3 machines are left'),
    })
  })
})

describe('a set that lacks machines', () => {
  const fresh = set({ name: 'new', status: { observedGeneration: 1 } })
  const old = { set: set(), machines: three }

  test('F41 makes none while a set that is being deleted has some for it', () => {
    const planned = plan(seen(set({ name: 'new' }), [], [{ set: going, machines: three }]), NOW)
    // No event announces when garbage collection takes them instead.
    expect([planned.actions, planned.requeueAfter]).toEqual([[], OTHERS_REQUEUE_MS])
  })

  test('makes its own where those of the other need another host', () => {
    expect(said(seen(set({ name: 'new', zone: 'b' }), [], [{ set: going, machines: three }]))).toEqual(['Create 3'])
  })

  test('F41 waits a while for the deletion of a set whose machines it selects, and then makes its own', () => {
    const first = plan(seen(fresh, [], [old]), NOW)
    expect([first.actions, first.waiting?.predicate]).toEqual([[], 'Succession'])
    const status = statusOf(seen(fresh, [], [old]), first, undefined, NOW)
    const later = seen({ ...fresh, status }, [], [old])
    expect(said(later, NOW + SUCCESSION_GRACE_MS - 1)).toEqual([])
    expect(said(later, NOW + SUCCESSION_GRACE_MS)).toEqual(['Create 3'])
    expect(said(later, NOW - 1)).toEqual(['Create 3'])
  })

  test('a machine that it takes in meanwhile does not end the wait', () => {
    const free = { ...machine('free'), metadata: { ...machine('free').metadata, ownerReferences: [] } }
    const adopting = seen(fresh, [free], [old])
    const first = plan(adopting, NOW)
    expect([first.actions.map(say), first.waiting?.predicate]).toEqual([['Adopt free'], 'Succession'])
    const status = statusOf(adopting, first, undefined, NOW)
    expect(said(seen({ ...fresh, status }, [machine('free', 'new')], [old]))).toEqual([])
  })

  test('makes its own at once where no set has machines that it selects', () => {
    expect(said(seen(fresh, [], [{ set: set(), machines: [] }]))).toEqual(['Create 3'])
  })

  test('makes nothing before it is safe from garbage collection', () => {
    expect(said(seen(set({ finalizers: [] }), []))).toEqual(['AddFinalizer'])
  })
})

test('a set that git still declares keeps its machines when it is deleted, and says why', () => {
  const later = NOW + SUCCESSION_GRACE_MS + 60_000
  const deleted = { ...seen(going, three), isDeclared: true }
  expect(said(deleted, later)).toEqual([])
  expect(plan(deleted, later).waiting?.seen).toBe('the set was deleted although git declares it; its machines stay')
  // If it is removed from the Inventory first, as sync does, it is deleted like any other.
  expect(said({ ...deleted, isDeclared: false }, later)).not.toEqual([])
  expect(said({ ...seen(going, []), isDeclared: true }, later)).toEqual(['RemoveFinalizer'])
  const kept = set({ isGoing: true, annotations: { [ANNOTATIONS.keepMachines]: 'true' } })
  expect(said({ ...seen(kept, three), isDeclared: true }, later)).toEqual(['Release a', 'Release b', 'Release c'])
})
