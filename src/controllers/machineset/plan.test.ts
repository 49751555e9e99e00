import { holdOn } from '#test/support/fleets/holds.ts'
import fc from 'fast-check'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { timestamp } from '#lib/clock.ts'
import { ApiError } from '#kube/errors.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import { describe, expect, test } from 'vitest'
import { ANNOTATIONS, FINALIZERS } from '#api/names.ts'
import type { MachineSetAction } from './actions.ts'
import { plan } from './plan.ts'
import { type Seen, isInService, isReady, isZombie } from './seen.ts'
import { refusalOf, statusOf } from './status.ts'
import { LASTING_TRIES } from '#runtime/refused-write.ts'

const NOW = Date.UTC(2026, 0, 5)
const LABELS = { pool: 'w' }

const set = (replicas: number, spec: object = {}): MachineSet => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineSet',
  metadata: { name: 'w', uid: 'set', generation: 3, finalizers: [FINALIZERS.machineSet] },
  spec: {
    replicas,
    selector: { matchLabels: LABELS },
    template: { metadata: { labels: LABELS }, spec: { provider: { name: 'process' }, channel: 'Agent' } },
    deleteOrder: 'Unhealthy',
    maxUnavailable: 1,
    ...spec,
  },
})

type State = 'Ready' | 'NotReady' | 'Installing' | 'Lost' | 'Deleting'

const OWNER = { apiVersion: 'kubenode.io/v1alpha1', kind: 'MachineSet', name: 'w', uid: 'set', controller: true }

function machine(id: string, state: State, metadata: object = {}): Machine {
  const ready = {
    type: 'Ready',
    status: state === 'Ready' ? 'True' : 'False',
    reason: 'X',
    message: '',
    lastTransitionTime: timestamp(NOW - 60_000),
  }
  const silent = { ...ready, type: 'AgentReachable', status: 'False' }
  return {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: {
      name: id,
      uid: `uid-${id}`,
      labels: LABELS,
      ownerReferences: [OWNER],
      ...(state === 'Deleting' && { deletionTimestamp: timestamp(NOW) }),
      ...metadata,
    },
    spec: { channel: 'Agent' },
    status: {
      phase: state === 'Installing' || state === 'Lost' ? state : 'Ready',
      conditions: state === 'Lost' ? [ready, silent] : [ready],
    },
  } as Machine
}

const permit = (id: string, phase: string, n = 0, generation = 3): OperationPermit =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationPermit',
    metadata: { name: `scalein-${id}-set-${generation}-${n}` },
    spec: {
      operations: ['ScaleIn'],
      targets: [{ kind: 'Machine', name: id, uid: `uid-${id}` }],
      requester: { manager: 'm' },
      reason: 'r',
      recovery: false,
      leaseSeconds: 120,
    },
    status: {
      phase,
      decidedAt: timestamp(NOW),
      verdicts: [{ target: `uid-${id}`, gate: 'All', verdict: phase === 'Granted' ? 'Granted' : 'Waiting' }],
    },
  }) as OperationPermit

const refusedFor = (ms: number) => ({ get: () => ms }) as unknown as Seen['refusedFor']
const protectedBy = (denied: OperationPermit): OperationPermit => {
  const verdicts = denied.spec.targets.map((t) => ({ target: t.uid, gate: 'Protect', verdict: 'Denied', seen: 'no' }))
  return { ...denied, status: { ...denied.status, verdicts } } as OperationPermit
}

const say = (a: MachineSetAction): string => {
  switch (a.kind) {
    case 'Create':
      return `Create ${a.count}`
    case 'RequestPermit':
      return `RequestPermit ${a.permit}`
    case 'RenewPermit':
      return `RenewPermit ${a.permit.metadata.name}`
    case 'ReportResult':
      return `ReportResult ${a.permit.metadata.name} ${a.result}`
    case 'HandOver':
      return `HandOver ${a.machine.metadata.name} to ${a.to.metadata.name}`
    case 'AddFinalizer':
    case 'RemoveFinalizer':
      return a.kind
    case 'RecordLosses':
      return `${a.kind} ${a.machines.length}`
    case 'Adopt':
    case 'Release':
    case 'Delete':
    case 'Bury':
    case 'TakeProvider':
    case 'TakeLogin':
    case 'TakeTemplate':
      return `${a.kind} ${a.machine.metadata.name}`
    default:
      return a satisfies never
  }
}

const seen = (s: MachineSet, machines: readonly Machine[], permits: readonly OperationPermit[] = []): Seen => ({
  set: s,
  machines,
  refusedFor: new Map(),
  permits,
  hold: undefined,
  others: [],
})
const pause = holdOn('MachineSet', 'w', { reason: 'why', until: timestamp(NOW + 90_000) })
const heldSeen = (s: Seen): Seen => ({ ...s, hold: pause })

const refused = (code: number): ApiError =>
  new ApiError(
    { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, message: 'machines are full' },
    { action: 'create', target: 'a machine' },
  )

/** Silent, and unknown to its provider. */
const zombie = (id: string): Machine => {
  const m = machine(id, 'Lost')
  const gone = {
    type: 'InfrastructureReady',
    status: 'False' as const,
    reason: 'MachineGone',
    message: '',
    lastTransitionTime: timestamp(NOW),
  }
  return { ...m, status: { ...m.status, conditions: [...(m.status?.conditions ?? []), gone] } }
}
/** Hosts that were lost before: minutes ago, and how many. */
const lost = (s: MachineSet, ...losses: readonly (readonly [number, number])[]): MachineSet => ({
  ...s,
  status: { hostLosses: losses.map(([ago, count]) => ({ at: timestamp(NOW - ago * 60_000), count })) },
})
const observed = (id: string): Machine => {
  const m = machine(id, 'Ready', { ownerReferences: [] })
  return { ...m, spec: { ...m.spec, channel: 'Observe' } }
}
const imported = (id: string): Machine =>
  machine(id, 'Ready', { ownerReferences: [], annotations: { [ANNOTATIONS.imported]: 'true' } })
const ready = (...ids: string[]) => ids.map((id) => machine(id, 'Ready'))
const many = (count: number, state: State) => Array.from({ length: count }, (_, i) => machine(`${state}-${i}`, state))

const cases: Readonly<Record<string, readonly [Seen, readonly string[]]>> = {
  'nothing when all is as declared': [seen(set(2), ready('a', 'b')), []],
  'makes what is missing': [seen(set(3), ready('a')), ['Create 2']],
  'makes a bounded number at once': [seen(set(500), []), ['Create 20']],
  'does not count machines on their way out': [seen(set(2), [...ready('a'), machine('b', 'Deleting')]), ['Create 1']],
  'makes no more while too many are still going': [seen(set(3), [...ready('a', 'b'), ...many(3, 'Deleting')]), []],
  'removes what never took work without asking': [
    seen(set(1), [...ready('a'), machine('b', 'Installing')]),
    ['Delete b'],
  ],
  'asks before it removes what is in service': [seen(set(1), ready('a', 'b')), ['RequestPermit scalein-a-set-3-0']],
  'waits for the answer': [seen(set(1), ready('a', 'b'), [permit('a', 'Requested')]), []],
  'removes under a grant': [seen(set(1), ready('a', 'b'), [permit('a', 'Granted')]), ['Delete a']],
  'stays with the machine that it asked for': [seen(set(1), ready('a', 'b'), [permit('b', 'Granted')]), ['Delete b']],
  'requests again when the grant expired': [
    seen(set(1), ready('a', 'b'), [permit('a', 'Expired')]),
    ['RequestPermit scalein-a-set-3-1'],
  ],
  'does not ask again what was denied': [seen(set(1), ready('a', 'b'), [permit('a', 'Denied')]), []],
  'asks again in a while, in case that the policy changed': [
    { ...seen(set(1), ready('a', 'b'), [permit('a', 'Denied')]), refusedFor: refusedFor(60_000) },
    ['RequestPermit scalein-a-set-3-1'],
  ],
  'does not ask again at once for a machine that is protected': [
    { ...seen(set(1), ready('a', 'b'), [protectedBy(permit('a', 'Denied'))]), refusedFor: refusedFor(599_999) },
    [],
  ],
  'asks again later for a machine that is protected': [
    { ...seen(set(1), ready('a', 'b'), [protectedBy(permit('a', 'Denied'))]), refusedFor: refusedFor(600_000) },
    ['RequestPermit scalein-a-set-3-1'],
  ],
  'asks again once the spec changed': [
    seen(set(1), ready('a', 'b'), [permit('a', 'Denied', 0, 2)]),
    ['RequestPermit scalein-a-set-3-0'],
  ],
  'takes the unhealthy first': [
    seen(set(1), [...ready('a'), machine('b', 'NotReady')]),
    ['RequestPermit scalein-b-set-3-0'],
  ],
  'takes the newest first where it should': [
    seen(set(1, { deleteOrder: 'Newest' }), [
      machine('a', 'Ready', { creationTimestamp: timestamp(NOW - 9_000) }),
      machine('b', 'Ready', { creationTimestamp: timestamp(NOW) }),
    ]),
    ['RequestPermit scalein-b-set-3-0'],
  ],
  'takes the oldest first where it should': [
    seen(set(1, { deleteOrder: 'Oldest' }), [
      machine('a', 'Ready', { creationTimestamp: timestamp(NOW) }),
      machine('b', 'Ready', { creationTimestamp: timestamp(NOW - 9_000) }),
    ]),
    ['RequestPermit scalein-b-set-3-0'],
  ],
  'takes nothing Ready away while others are not': [
    seen(
      set(4),
      [...ready('a', 'b', 'c'), machine('d', 'NotReady'), machine('e', 'NotReady')],
      [permit('d', 'Requested')],
    ),
    [],
  ],
  'removes nothing when many are silent at once': [seen(set(2), [...ready('a', 'b'), ...many(2, 'Lost')]), []],
  'gives a permit back that is not needed any more': [
    seen(set(2), ready('a', 'b'), [permit('a', 'Granted')]),
    ['ReportResult scalein-a-set-3-0 Released'],
  ],
  'ends a permit whose machine is gone': [
    seen(set(1), ready('b'), [permit('a', 'Granted')]),
    ['ReportResult scalein-a-set-3-0 Succeeded'],
  ],
  'takes in what matches and has no owner, before it counts': [
    seen(set(1), [machine('a', 'Ready', { ownerReferences: [] })]),
    ['Adopt a'],
  ],
  'replaces a machine whose host is gone, without asking': [
    seen(set(3), [...ready('a', 'b', 'c'), zombie('z')]),
    ['RecordLosses 1', 'Bury z'],
  ],
  'replaces one although it has as many as it wants': [
    seen(set(3), [...ready('a', 'b'), zombie('z')]),
    ['RecordLosses 1', 'Bury z'],
  ],
  'replaces no more when hosts were lost one after another within an hour': [
    seen(lost(set(4), [50, 1], [10, 2]), [...ready('a', 'b', 'c'), zombie('z')]),
    [],
  ],
  'replaces as many as are left of an hour': [
    seen(lost(set(12), [50, 1], [10, 1]), [...many(8, 'Ready'), zombie('w'), zombie('x'), zombie('y'), zombie('z')]),
    ['RecordLosses 2', 'Bury w', 'Bury x'],
  ],
  'tries again to replace those that it has counted, also beyond the limit': [
    {
      ...seen(lost(set(12), [10, 4]), [...many(10, 'Ready'), zombie('y'), zombie('z')]),
      recorded: new Map([
        [zombie('y').metadata.uid ?? '', NOW - 3_600_000],
        [zombie('z').metadata.uid ?? '', NOW - 600_000],
      ]),
    },
    ['Bury z'],
  ],
  'replaces again once the losses are an hour old': [
    seen(lost(set(4), [61, 3]), [...ready('a', 'b', 'c'), zombie('z')]),
    ['RecordLosses 1', 'Bury z'],
  ],
  'makes what is missing although a lost one is not replaced': [
    seen(lost(set(6), [10, 3]), [...ready('a', 'b', 'c'), zombie('z')]),
    ['Create 2'],
  ],
  'replaces nothing that is silent but known to its provider': [
    seen(set(2), [...ready('a'), machine('b', 'Lost')]),
    [],
  ],
  'F20 replaces none when the provider has forgotten many at once': [
    seen(set(5), [...ready('a', 'b', 'c'), zombie('y'), zombie('z')]),
    [],
  ],
  'makes nothing while it is held': [heldSeen(seen(set(3), ready('a'))), []],
  'removes nothing while it is held, also under a grant': [
    heldSeen(seen(set(1), ready('a', 'b'), [permit('a', 'Granted')])),
    [],
  ],
  'takes in nothing while it is held': [heldSeen(seen(set(1), [machine('a', 'Ready', { ownerReferences: [] })])), []],
  'never takes in what is only observed': [seen(set(0), [observed('a')]), []],
  'F47 never takes in an imported node only to remove it': [seen(set(1), [...ready('a'), imported('b')]), []],
  'F47 never takes in a machine of others only to remove it': [
    seen(set(1), [...ready('a'), machine('b', 'Ready', { ownerReferences: [] })]),
    [],
  ],
  'F47 takes in as many imported nodes as it lacks': [
    seen(set(2), [...ready('a'), imported('b'), imported('c')]),
    ['Adopt b'],
  ],
  'F47 fills what goes by an imported node': [seen(set(1), [machine('a', 'Deleting'), imported('b')]), ['Adopt b']],
  'takes in nothing that goes': [seen(set(1), [machine('a', 'Deleting', { ownerReferences: [] })]), ['Create 1']],
  'lets go what does not match any more': [seen(set(1), [machine('a', 'Ready', { labels: {} })]), ['Release a']],
  'does nothing by an empty selector': [seen(set(1, { selector: {} }), []), []],
  'does nothing by a template that does not match': [
    seen(set(1, { selector: { matchLabels: { pool: 'x' } } }), []),
    [],
  ],
  'does nothing by a selector that cannot be read': [
    seen(set(1, { selector: { matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] } }), []),
    [],
  ],
}

describe('a machine set', () => {
  test('makes no machine while its cluster is being deleted, and says so', () => {
    const leaving = { ...seen(set(3), []), isClusterLeaving: true }
    const made = plan(leaving, NOW)
    expect([made.actions, made.waiting?.predicate]).toEqual([[], 'ClusterLeaves'])
    expect(plan({ ...leaving, isClusterLeaving: false }, NOW).actions.map(say)).toEqual(['Create 3'])
  })

  test.each(Object.entries(cases))('%s', (_, [s, actions]) => {
    expect(plan(s, NOW).actions.map(say)).toEqual(actions)
  })

  test('renews the permit of a machine that is still going', () => {
    const going = [machine('a', 'Deleting'), machine('b', 'Ready')]
    const p = plan(seen(set(1), going, [permit('a', 'Granted')]), NOW + 60_000)
    expect(p.actions.map(say)).toEqual(['RenewPermit scalein-a-set-3-0'])
    expect(p.requeueAfter).toBe(10_000)
  })

  test('says what it waits for, since when, and keeps saying it', () => {
    const waiting = seen(set(1), ready('a', 'b'), [permit('a', 'Requested')])
    const first = statusOf(waiting, plan(waiting, NOW), undefined, NOW)
    expect(first.waitingFor).toMatchObject({
      predicate: 'PermitGranted',
      unblock: 'gate All grants the permit; for details run kubenode why operationpermit/scalein-a-set-3-0',
    })
    const later = { ...waiting, set: { ...waiting.set, status: first } }
    expect(statusOf(later, plan(later, NOW + 60_000), undefined, NOW + 60_000)).toEqual(first)
  })

  test('counts its machines in good English', () => {
    const short = seen(set(3), ready('a'))
    const { conditions } = statusOf(short, plan(short, NOW), undefined, NOW)
    expect(conditions?.find((c) => c.type === 'Ready')?.message).toBe('1 of 3 machines are Ready, 1 exists')
  })

  test('names the machines that are not Ready, with their phases', () => {
    const short = seen(set(3), [machine('c', 'Lost'), ...ready('a'), machine('b', 'Installing'), machine('d', 'Lost')])
    const { conditions } = statusOf(short, plan(short, NOW), undefined, NOW)
    expect(conditions?.find((c) => c.type === 'Ready')?.message).toBe(
      '1 of 3 machines are Ready, 4 exist: machine/b is Installing, machine/c is Lost and 1 more',
    )
  })

  test('says in its condition which gate of the Defender it waits for', () => {
    const asked = permit('a', 'Requested')
    const verdicts = [{ target: 'uid-a', gate: 'Breaker', verdict: 'Waiting' as const, seen: 'open since 10:00' }]
    const waiting = seen(set(1), ready('a', 'b'), [{ ...asked, status: { ...asked.status, verdicts } }])
    const { conditions, waitingFor } = statusOf(waiting, plan(waiting, NOW), undefined, NOW)
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'Reconciling', reason: 'BreakerOpen' }))
    expect(waitingFor).toEqual({
      predicate: 'PermitGranted',
      seen: 'gate Breaker: open since 10:00',
      unblock:
        'its pause is over and the operations that it tries succeed; for details run kubenode why operationpermit/scalein-a-set-3-0',
      since: timestamp(NOW),
    })
  })

  test('says why it is frozen', () => {
    const frozen = seen(set(2), [...ready('a', 'b'), ...many(2, 'Lost')])
    const { conditions } = statusOf(frozen, plan(frozen, NOW), undefined, NOW)
    expect(conditions?.find((c) => c.type === 'ScalingFrozen')).toMatchObject({ status: 'True', reason: 'ZoneOutage' })
  })

  test('says who holds it, and looks again when that is over', () => {
    const s = heldSeen(seen(set(3), ready('a')))
    const planned = plan(s, NOW)
    expect(planned.requeueAfter).toBe(90_000)
    const status = statusOf(s, planned, undefined, NOW)
    expect(status).toMatchObject({ phase: 'Paused', waitingFor: { predicate: 'NotHeld' } })
    expect(status.conditions?.find((c) => c.type === 'Paused')).toMatchObject({
      status: 'True',
      reason: 'HoldPause',
      message: 'ada until 2026-01-05T00:01:30Z: why',
    })
    const over = { ...seen(set(3), ready('a')), set: { ...set(3), status } }
    expect(statusOf(over, plan(over, NOW), undefined, NOW).conditions?.find((c) => c.type === 'Paused')).toBeUndefined()
  })

  test('counts machines of an older template, and changes none of them', () => {
    const now = set(3, {
      template: { metadata: { labels: LABELS }, spec: { provider: { name: 'process' }, channel: 'Agent', zone: 'b' } },
    })
    const made = (id: string, zone: string): Machine => {
      const m = machine(id, 'Ready')
      return {
        ...m,
        spec: { ...m.spec, provider: { name: 'process' }, zone, providerID: 'process://x', address: '10.0.0.1' },
      }
    }
    const s = seen(now, [made('old', 'a'), made('new', 'b'), made('new-2', 'b')])
    expect(plan(s, NOW).actions).toEqual([])
    expect(statusOf(s, plan(s, NOW), undefined, NOW).outdatedReplicas).toBe(1)
  })

  test('what the server refuses for good stalls it, with the words of the server; what it refuses for now does not', () => {
    const s = seen(set(2), ready('a'))
    const planned = plan(s, NOW)
    const refusal = (status: number): ActionResult<MachineSetAction>[] => [
      {
        action: planned.actions[0] as MachineSetAction,
        outcome: { kind: 'Denied', error: refused(status), retryAfterMs: undefined },
      },
    ]
    const stalled = (status: number, failures = 0) =>
      statusOf(s, planned, refusalOf(refusal(status), failures), NOW).conditions?.find((c) => c.type === 'Stalled')
    expect(stalled(403)).toMatchObject({ status: 'True', reason: 'ActionRefused' })
    expect(stalled(403)?.message).toContain('machines are full')
    expect(stalled(429)).toMatchObject({ status: 'False' })
    expect(stalled(429, LASTING_TRIES)).toMatchObject({ status: 'True' })
  })

  test('a spec that cannot be used stalls it and names the field', () => {
    const bad = seen(set(1, { selector: {} }), [])
    const { conditions, phase } = statusOf(bad, plan(bad, NOW), undefined, NOW)
    expect(phase).toBe('Blocked')
    expect(conditions?.find((c) => c.type === 'Stalled')).toMatchObject({ status: 'True', reason: 'InvalidSpec' })
  })
})

const states = fc.array(
  fc.constantFrom<(State | 'Gone')[]>('Ready', 'NotReady', 'Installing', 'Lost', 'Gone', 'Deleting'),
  {
    maxLength: 12,
  },
)
const worlds = fc
  .record({
    replicas: fc.integer({ min: 0, max: 8 }),
    maxUnavailable: fc.constantFrom<(number | string)[]>(1, 2, '25%', '100%'),
    order: fc.constantFrom('Unhealthy', 'Newest', 'Oldest', 'Random'),
    states,
    permits: fc.array(
      fc.record({ at: fc.nat(11), phase: fc.constantFrom('Requested', 'Granted', 'Expired', 'Denied') }),
      { maxLength: 6 },
    ),
  })
  .map(({ replicas, maxUnavailable, order, states: all, permits }) =>
    seen(
      set(replicas, { maxUnavailable, deleteOrder: order }),
      all.map((state, i) => (state === 'Gone' ? zombie(`m${i}`) : machine(`m${i}`, state))),
      permits.map(({ at, phase }, i) => permit(`m${at}`, phase, i)),
    ),
  )

const share = (v: number | string, of: number) =>
  typeof v === 'number' ? v : Math.max(1, Math.floor((of * Number.parseInt(v, 10)) / 100))

describe('whatever a machine set sees', () => {
  test('it removes only what is too much, within maxUnavailable, and what is in service only under a grant', () => {
    fc.assert(
      fc.property(worlds, (w) => {
        const { actions } = plan(w, NOW)
        const gone = actions.flatMap((a) => (a.kind === 'Delete' ? [a] : []))
        const alive = w.machines.filter((m) => m.metadata.deletionTimestamp === undefined)
        const { replicas, maxUnavailable } = w.set.spec
        expect(gone.length).toBeLessThanOrEqual(Math.max(0, alive.length - replicas))
        const goneReady = gone.filter((a) => isReady(a.machine)).length
        const left = alive.filter(isReady).length - goneReady
        if (goneReady > 0) expect(left).toBeGreaterThanOrEqual(replicas - share(maxUnavailable, replicas))
        for (const { machine: m, permit: name } of gone)
          if (isInService(m)) expect(w.permits.find((p) => p.metadata.name === name)?.status?.phase).toBe('Granted')
      }),
      { numRuns: 500 },
    )
  })

  test('it never makes and removes in one go, and never makes more than are missing', () => {
    fc.assert(
      fc.property(worlds, (w) => {
        const { actions } = plan(w, NOW)
        const created = actions.reduce((n, a) => n + (a.kind === 'Create' ? a.count : 0), 0)
        const alive = w.machines.filter((m) => m.metadata.deletionTimestamp === undefined).length
        expect(alive + created).toBeLessThanOrEqual(Math.max(alive, w.set.spec.replicas))
        expect(created > 0 && actions.some((a) => a.kind === 'Delete')).toBe(false)
      }),
      { numRuns: 300 },
    )
  })

  test('unknown never disrupts: it removes nothing while many are silent, and nothing at all while it is held', () => {
    fc.assert(
      fc.property(worlds, (w) => {
        const isRemoval = ({ kind }: MachineSetAction) => kind === 'Delete' || kind === 'Bury'
        const alive = w.machines.filter((m) => m.metadata.deletionTimestamp === undefined)
        const silent = alive.filter((m) => m.status?.phase === 'Lost').length
        const gone = alive.filter(isZombie).length
        const { actions } = plan(w, NOW)
        if (silent > 1 && silent > alive.length / 3) expect(actions.filter((a) => a.kind === 'Delete')).toEqual([])
        if (gone > 1 && gone > alive.length / 3) expect(actions.filter(isRemoval)).toEqual([])
        const held = plan(heldSeen(w), NOW).actions.map((a) => a.kind)
        expect(held.filter((k) => k !== 'RenewPermit' && k !== 'ReportResult')).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  test('it never stands still without a word', () => {
    fc.assert(
      fc.property(worlds, (w) => {
        const p = plan(w, NOW)
        const alive = w.machines.filter((m) => m.metadata.deletionTimestamp === undefined).length
        const isMoving = p.actions.some((a) => a.kind === 'Create' || a.kind === 'Delete' || a.kind === 'Bury')
        if (alive === w.set.spec.replicas || isMoving) return
        expect(p.waiting ?? p.freeze).toBeDefined()
      }),
      { numRuns: 500 },
    )
  })

  test('the order in which machines are listed does not matter', () => {
    fc.assert(
      fc.property(worlds, (w) => {
        const turned = { ...w, machines: [...w.machines].reverse() }
        expect(plan(turned, NOW).actions.map(say).sort()).toEqual(plan(w, NOW).actions.map(say).sort())
      }),
      { numRuns: 300 },
    )
  })
})

describe('a template whose provider was misspelled and is corrected', () => {
  const waiting = (id: string, status: object = {}, spec: object = {}): Machine => {
    const conditions = [
      {
        type: 'InfrastructureReady',
        status: 'False',
        reason: 'ReferenceMissing',
        message: '',
        lastTransitionTime: timestamp(NOW),
      },
    ]
    const m = machine(id, 'NotReady')
    const provider = { name: 'proces' }
    return {
      ...m,
      spec: { ...m.spec, provider, ...spec },
      status: { phase: 'Pending', conditions, ...status },
    } as Machine
  }
  const attempt = { attempt: 1, token: '0'.repeat(60), since: timestamp(NOW) }
  const said = (m: Machine) => plan(seen(set(1), [m]), NOW).actions.map(say)

  test.each([
    ['nobody was ever asked for a host', waiting('a'), ['TakeProvider a']],
    ['the request was refused', waiting('a', { provisioning: { ...attempt, answer: 'Refused' } }), ['TakeProvider a']],
    ['the answer is not known', waiting('a', { provisioning: { ...attempt, answer: 'Unknown' } }), []],
    ['no answer yet', waiting('a', { provisioning: attempt }), []],
    ['an earlier host was lost', waiting('a', { provisioning: { ...attempt, answer: 'Refused', lost: 1 } }), []],
    ['it has a host', waiting('a', {}, { providerID: 'process://a' }), []],
    ['it has a node', waiting('a', { nodeRef: { name: 'a' } }), []],
    ['its provider is unknown for now', waiting('a', { conditions: [] }), []],
    ['nothing is known of it', { ...waiting('a'), status: undefined } as unknown as Machine, []],
    ['it has the provider of the template', waiting('a', {}, { provider: { name: 'process' } }), []],
    ['it is only observed', waiting('a', {}, { channel: 'Observe' }), []],
  ])('%s', (_, m, wanted) => {
    expect(said(m)).toEqual(wanted)
  })

  test('a hold stops it, and a large set is corrected in parts', () => {
    const many = Array.from({ length: 50 }, (_, n) => waiting(`m${n}`))
    expect(plan(heldSeen(seen(set(50), many)), NOW).actions).toEqual([])
    expect(plan(seen(set(50), many), NOW).actions.map((a) => a.kind)).toEqual(Array(20).fill('TakeProvider'))
  })
})
