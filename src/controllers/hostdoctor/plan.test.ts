import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { ANNOTATIONS, FINALIZERS, TAINTS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import type { Node } from '#nodes/objects.ts'
import { KEPT_MS, plan } from './plan.ts'
import { operationsOf } from './plan-permit.ts'
import type { Seen } from './seen.ts'
import { defined } from '#lib/defined.ts'

const NOW = Date.parse('2026-03-02T12:00:00Z')
const HOUR = 3_600_000
const at = (ms: number): string => timestamp(NOW + ms)
const EVENT = 'reboot-1'

type Spec = MaintenanceEvent['spec']
type Status = NonNullable<MaintenanceEvent['status']>

const event = (spec: Partial<Spec> = {}, status?: Partial<Status>): MaintenanceEvent =>
  ({
    metadata: { finalizers: [FINALIZERS.maintenance], name: EVENT, uid: 'e', resourceVersion: '1' },
    spec: {
      machine: 'm-1',
      host: { id: 'cloud://m-1' },
      source: 'cloud',
      eventId: 'x',
      kind: 'Reboot',
      state: 'Scheduled',
      unplanned: false,
      dataLoss: false,
      notBefore: at(24 * HOUR),
      ...spec,
    },
    ...defined({ status }),
  }) as unknown as MaintenanceEvent

const machine = (ready = true, bootID = 'b1'): Machine =>
  ({
    metadata: { name: 'm-1', uid: 'uid-m' },
    spec: { providerID: 'cloud://m-1', channel: 'Agent' },
    status: {
      phase: ready ? 'Ready' : 'NotReady',
      bootID,
      components: [],
      conditions: [
        { type: 'Ready', status: ready ? 'True' : 'False', reason: 'A', message: '', lastTransitionTime: at(0) },
      ],
    },
  }) as unknown as Machine

const node = (isOurs = false, isReady = true): Node =>
  ({
    metadata: {
      name: 'm-1',
      uid: 'uid-n',
      annotations: isOurs
        ? { [ANNOTATIONS.cordon]: JSON.stringify({ [`maintenance/${EVENT}`]: { reason: 'x' } }) }
        : {},
    },
    spec: { taints: isOurs ? [{ key: TAINTS.cordon, effect: 'NoSchedule' }] : [] },
    status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'Unknown' }] },
  }) as unknown as Node

const endedFor = (ms: number) => new Map([['p', ms]])

const permit = (phase: string, more: object = {}): OperationPermit =>
  ({
    metadata: { name: EVENT, uid: 'p' },
    spec: {
      targets: [{ kind: 'Machine', name: 'm-1', uid: 'uid-m' }],
      leaseSeconds: 900,
      operations: ['Drain'],
      ...more,
    },
    status: {
      phase,
      decidedAt: at(0),
      verdicts: [{ target: 'uid-m', gate: 'Ledger', verdict: phase === 'Granted' ? 'Granted' : 'Waiting' }],
    },
  }) as unknown as OperationPermit

const seen = (more: Partial<Seen> = {}): Seen => ({
  event: event(),
  machine: machine(),
  node: node(),
  permit: undefined,
  endedFor: new Map(),
  strays: [],
  hasPods: undefined,
  absentPolls: 0,
  isConfirmed: true,
  policy: { answer: 'Wait', postpone: false, podWaitMs: 0, windows: [] },
  drainP95Ms: undefined,
  runningJob: undefined,
  isSurplus: false,
  ...more,
})

const kinds = (s: Seen, now = NOW) => plan(s, now).actions.map((a) => a.kind)
const phase = (s: Seen, now = NOW) => plan(s, now).change?.phase
const planned = (startMs: number, more: Partial<Status> = {}, spec: Partial<Spec> = {}): MaintenanceEvent => {
  const made = event(spec)
  return {
    ...made,
    status: {
      phase: 'Announced',
      phaseSince: at(0),
      lead: '2h',
      startAt: at(startMs),
      plannedFor: made.spec.notBefore,
      ...more,
    } as Status,
  }
}

test('work of a provider that lasts longer than a day is overrun, and the event says whom to ask', () => {
  const since = at(-25 * HOUR)
  const executing = event({ state: 'Executing' }, { phase: 'InProgress', phaseSince: since })
  expect(plan(seen({ event: executing }), NOW).waiting).toMatchObject({
    predicate: 'MaintenanceOverrun',
    seen: `cloud says Executing, since ${since}`,
  })
  const young = event({ state: 'Executing' }, { phase: 'InProgress', phaseSince: at(-HOUR) })
  expect(plan(seen({ event: young }), NOW).waiting?.predicate).toBe('MaintenanceUnderWay')
})

test('a drained node whose provider does not begin is overrun a day later, and the event says whom to ask', () => {
  const late = (ms: number) =>
    plan(
      seen({
        event: event({ notBefore: at(-ms) }, { phase: 'Prepared', phaseSince: at(-ms), plannedFor: at(-ms) }),
        permit: permit('Granted'),
        node: node(true),
      }),
      NOW,
    ).waiting
  expect(late(HOUR)?.predicate).toBe('WaitingForOther')
  expect(late(25 * HOUR)).toMatchObject({
    predicate: 'MaintenanceOverrun',
    unblock: 'a person asks cloud to begin or cancel it: kubenode maintenance list',
  })
})

describe('what was written before we started, and its source was not asked about since', () => {
  const isConfirmed = false
  test.each([
    ['its time has passed', planned(-2 * HOUR, {}, { notBefore: at(-1_000) }), 'Missed'],
    ['its preparation is due', planned(-1_000, {}, { notBefore: at(HOUR) }), 'Preparing'],
    [
      'it is prepared and its time has passed',
      planned(-2 * HOUR, { phase: 'Preparing' }, { notBefore: at(-1_000) }),
      'Missed',
    ],
  ] as const)('%s: nothing follows before a list says so', (_, event, then) => {
    const asked = event.status?.phase === 'Preparing' ? { permit: permit('Requested') } : {}
    const before = plan(seen({ event, isConfirmed, ...asked }), NOW)
    expect([before.change?.phase, before.actions]).toEqual([undefined, []])
    expect(phase(seen({ event, ...asked }))).toBe(then)
  })

  test('it says for which list it waits', () => {
    const { waiting } = plan(seen({ event: planned(-1_000, {}, { notBefore: at(HOUR) }), isConfirmed }), NOW)
    expect(waiting?.seen).toBe('cloud has not been asked since the controllers started')
  })

  test('no host is restarted for it', () => {
    const event = planned(
      -1_000,
      { phase: 'Prepared', permitRef: EVENT, answer: { kind: 'Reboot', at: at(-1_000), outcome: 'Pending' } },
      { kind: 'Reboot' },
    )
    const prepared = {
      event,
      permit: permit('Granted'),
      node: node(true),
      policy: { answer: 'Reboot', postpone: false, podWaitMs: 0, windows: [] },
    } as const
    expect(kinds(seen({ ...prepared, isConfirmed }))).not.toContain('Reboot')
    expect(kinds(seen(prepared))).toContain('Reboot')
  })

  test('a host that is reclaimed in minutes is drained all the same', () => {
    const reclaim = event({ kind: 'Reclaim', notBefore: at(120_000) })
    expect(phase(seen({ event: reclaim, isConfirmed }))).toBe('Preparing')
  })
})

describe('a host that is taken back', () => {
  const windows = [[{ cron: '0 2 * * *', duration: '3h', timeZone: 'UTC' }]]
  const policy = { answer: 'Wait', postpone: false, podWaitMs: 0, windows } as const
  test.each([
    ['in two minutes, outside every window', { notBefore: at(2 * 60_000) }],
    ['at a time that its provider does not name', { notBefore: undefined as never, unplanned: true }],
  ])('%s is drained at once, under a permit for the drain alone', (_, spec) => {
    const reclaim = { kind: 'Reclaim', dataLoss: true, ...spec } as const
    expect(phase(seen({ event: event(reclaim), policy }))).toBe('Preparing')
    const preparing = event(reclaim, { phase: 'Preparing' })
    expect(kinds(seen({ event: preparing, policy }))).toEqual(['RequestPermit'])
    expect(operationsOf(preparing.spec)).toEqual(['Drain'])
    const granted = { ...event(reclaim, { phase: 'Preparing', permitRef: EVENT }) }
    expect(kinds(seen({ event: granted, permit: permit('Granted'), policy }))).toEqual(['Cordon'])
    const done = { permit: permit('Granted'), node: node(true), hasPods: false, policy }
    expect(phase(seen({ event: granted, ...done }))).toBe('Prepared')
  })

  test('ends as cancelled when its source drops it in time, and is verified when it does so later', () => {
    const reclaim = { kind: 'Reclaim', notBefore: at(60_000) } as const
    const prepared = event(reclaim, { phase: 'Prepared' })
    expect(phase(seen({ event: prepared, absentPolls: 2 }))).toBe('Cancelled')
    expect(phase(seen({ event: prepared, absentPolls: 2 }), NOW + 120_000)).toBe('Verifying')
  })
})

describe('an event that is announced', () => {
  test('starts two hours before it happens when nothing is known of drains', () => {
    expect(plan(seen(), NOW).change).toMatchObject({ startAt: at(22 * HOUR), lead: '2h', plannedFor: at(24 * HOUR) })
  })

  test('starts three slow drains before it happens', () => {
    expect(plan(seen({ drainP95Ms: HOUR }), NOW).change).toMatchObject({ startAt: at(21 * HOUR), lead: '3h' })
  })

  test('starts at the last window that leaves the lead', () => {
    const windows = [[{ cron: '0 2 * * *', duration: '3h', timeZone: 'UTC' }]]
    const change = plan(seen({ policy: { answer: 'Wait', postpone: false, podWaitMs: 0, windows } }), NOW).change
    expect(change).toMatchObject({ startAt: '2026-03-03T02:00:00Z' })
  })

  test('is planned once, and not written again', () => {
    expect(plan(seen({ event: planned(22 * HOUR) }), NOW)).toMatchObject({
      actions: [],
      waiting: { predicate: 'MaintenancePlanned' },
    })
    expect(plan(seen({ event: planned(22 * HOUR) }), NOW).change).toBeUndefined()
  })

  test('is prepared for when its start is reached, or less time is left than the lead', () => {
    expect(phase(seen({ event: planned(0) }))).toBe('Preparing')
    expect(phase(seen({ event: planned(HOUR, {}, { notBefore: at(HOUR) }) }))).toBe('Preparing')
    expect(phase(seen({ event: planned(22 * HOUR) }))).toBeUndefined()
  })

  test.each([
    ['is a notice for people', { kind: 'Notice' as const }, {}],
    ['is of a machine that is observed only', {}, { channel: 'Observe' as const }],
  ])('is never prepared for when it %s', (_, spec, own) => {
    const of = machine()
    const s = seen({ event: planned(-HOUR, {}, spec), machine: { ...of, spec: { ...of.spec, ...own } } })
    expect(phase(s)).not.toBe('Preparing')
    expect(kinds(s)).toEqual([])
  })

  test.each([{}, { notBefore: at(HOUR) }])(
    'of an observed machine tells that KubeNode does not drain its node: %o',
    (time) => {
      const of = machine()
      const s = seen({
        event: planned(-HOUR, {}, { source: 'People', ...time }),
        machine: { ...of, spec: { ...of.spec, channel: 'Observe' } },
      })
      expect(plan(s, NOW).waiting).toMatchObject({
        predicate: 'ObservedOnly',
        unblock: expect.stringContaining('kubectl drain') as string,
      })
    },
  )

  test('is missed, and said, when its time comes before the node is drained', () => {
    const late = seen({ event: planned(-2 * HOUR, { phase: 'Preparing' }, { notBefore: at(-1) }) })
    expect(plan(late, NOW)).toMatchObject({
      change: { phase: 'Missed', missedAt: at(0) },
      notices: [{ reason: 'MaintenanceMissed' }],
    })
    const missed = seen({ event: planned(-2 * HOUR, { phase: 'Missed', missedAt: at(0) }, { notBefore: at(-1) }) })
    expect(phase(missed)).toBe('InProgress')
  })

  test('that was not announced goes to InProgress at once, without a permit', () => {
    const s = seen({ event: event({ unplanned: true, state: 'Executing' }) })
    expect(phase(s)).toBe('InProgress')
    expect(plan(s, NOW).change?.missedAt).toBeUndefined()
    expect(kinds(s)).toEqual([])
  })
})

describe('a host that ends because of a bill', () => {
  const bill = (endsMs: number) => ({ kind: 'Stop', bill: true, notBefore: at(endsMs) }) as const
  const windows = [[{ cron: '0 2 * * *', duration: '3h', timeZone: 'UTC' }]]
  const inWindows = { answer: 'Wait', postpone: false, podWaitMs: 0, windows } as const

  test('is for people until its last day: no window and no slow drain begins earlier', () => {
    const ends = event(bill(100 * HOUR))
    expect(plan(seen({ event: ends, drainP95Ms: 20 * HOUR }), NOW)).toMatchObject({
      actions: [],
      change: { startAt: at(76 * HOUR), lead: '1d' },
      waiting: { unblock: 'a person pays the bill at cloud' },
    })
    // A day before is 16:00. The window of that morning is too early.
    expect(plan(seen({ event: ends, policy: inWindows }), NOW).change?.startAt).toBe('2026-03-06T02:00:00Z')
  })

  test('is prepared for on its last day, under a permit', () => {
    const lastDay = (endsMs: number) => planned(endsMs - 2 * HOUR, {}, bill(endsMs))
    expect(phase(seen({ event: lastDay(25 * HOUR) }))).toBeUndefined()
    expect(phase(seen({ event: lastDay(2 * HOUR) }))).toBe('Preparing')
    const preparing = { ...lastDay(HOUR), status: { ...lastDay(HOUR).status, phase: 'Preparing' } as Status }
    expect(kinds(seen({ event: preparing }))).toEqual(['RequestPermit'])
  })

  test('gives the node back when the bill is paid', () => {
    const prepared = planned(-1, { phase: 'Prepared' }, { ...bill(2 * HOUR), state: 'Cancelled' })
    expect(phase(seen({ event: prepared, node: node(true), permit: permit('Granted') }))).toBe('Cancelled')
  })

  test('is answered by no restart', () => {
    const prepared = planned(-1, { phase: 'Prepared', permitRef: EVENT }, bill(2 * HOUR))
    const policy = { answer: 'Reboot', postpone: false, podWaitMs: 0, windows: [] } as const
    const drained = { event: prepared, node: node(true), permit: permit('Granted'), hasPods: false, policy }
    expect(plan(seen(drained), NOW).change?.answer).toBeUndefined()
    const restart = planned(-1, { phase: 'Prepared', permitRef: EVENT }, { ...bill(2 * HOUR), bill: false })
    expect(plan(seen({ ...drained, event: restart }), NOW).change?.answer).toMatchObject({ kind: 'Reboot' })
  })

  test('has no last day when it names no end', () => {
    const { notBefore: _, ...spec } = event(bill(0)).spec
    const untimed = { ...event(), spec, status: { phase: 'Announced', startAt: at(-HOUR) } } as MaintenanceEvent
    const policy = { answer: 'Reboot', postpone: false, podWaitMs: 0, windows: [] } as const
    expect(plan(seen({ event: untimed, policy }), NOW)).toMatchObject({ actions: [], notices: [] })
    expect(phase(seen({ event: untimed, policy }))).toBeUndefined()
  })
})

describe('an end at its source', () => {
  test.each([
    [0, 'Announced', undefined],
    [1, 'Announced', undefined],
    [2, 'Announced', 'Cancelled'],
    [1, 'Preparing', undefined],
    [2, 'Prepared', 'Cancelled'],
    [1, 'InProgress', undefined],
    [2, 'InProgress', 'Verifying'],
  ] as const)('missing in %i complete lists while %s leads to %s', (absentPolls, from, to) => {
    expect(phase(seen({ absentPolls, event: planned(HOUR, { phase: from }), permit: permit('Requested') }))).toBe(to)
  })

  test('a list that lacks the event after its time does not cancel what may have happened', () => {
    const s = seen({ absentPolls: 2, event: planned(-HOUR, { phase: 'Prepared' }, { notBefore: at(-1) }) })
    expect(phase(s)).toBe('Verifying')
  })

  test.each([
    ['Cancelled', 'Prepared', 'Cancelled'],
    ['Cancelled', 'InProgress', 'Verifying'],
    ['Executed', 'Announced', 'Verifying'],
    ['Avoided', 'Prepared', 'Verifying'],
    ['Failed', 'InProgress', 'Failed'],
    ['Executing', 'Prepared', 'InProgress'],
  ] as const)('its source says %s while %s: %s', (state, from, to) => {
    expect(phase(seen({ event: planned(HOUR, { phase: from }, { state }) }))).toBe(to)
  })

  test('another boot ends what a provider does, and not what people do', () => {
    const spec = { notBefore: at(-1) }
    const status = { phase: 'InProgress' as const, bootID: 'b0' }
    expect(phase(seen({ event: planned(-HOUR, status, spec) }))).toBe('Verifying')
    expect(phase(seen({ event: planned(-HOUR, status, { ...spec, source: 'People' }) }))).toBeUndefined()
  })

  test('people who name no time begin when the node is drained, and are never too early', () => {
    const { notBefore: _, ...untimed } = event({ source: 'People', notAfter: at(2 * HOUR) }).spec
    const asked = (status?: Partial<Status>) => ({ ...event({}, status), spec: untimed })
    expect(plan(seen({ event: asked() }), NOW).change).toMatchObject({ phase: 'Announced', startAt: at(0) })
    expect(phase(seen({ event: asked({ phase: 'Announced', startAt: at(0) }) }))).toBe('Preparing')
    const drains = asked({ phase: 'Preparing', startAt: at(-HOUR), permitRef: EVENT })
    const under = { event: drains, permit: permit('Granted'), node: node(true) }
    expect(phase(seen({ ...under, hasPods: true }))).toBeUndefined()
    expect(phase(seen({ ...under, hasPods: false }))).toBe('Prepared')
    expect(phase(seen({ ...under, event: asked({ ...drains.status, phase: 'Prepared' }) }))).toBe('InProgress')
  })

  test('a time that leaves more than the lead again gives the node back', () => {
    const moved = event(
      { notBefore: at(72 * HOUR) },
      {
        phase: 'Prepared',
        phaseSince: at(0),
        lead: '2h',
        startAt: at(-1),
        plannedFor: at(24 * HOUR),
        permitRef: EVENT,
      },
    )
    expect(phase(seen({ event: moved, node: node(true), permit: permit('Granted') }))).toBe('Announced')
    const back = {
      ...moved,
      status: { ...moved.status, phase: 'Announced', startAt: undefined, plannedFor: undefined },
    } as unknown as MaintenanceEvent
    expect(plan(seen({ event: back, node: node(true), permit: permit('Granted') }), NOW).actions).toMatchObject([
      { kind: 'Uncordon' },
      { kind: 'ReportResult', result: 'Released' },
    ])
  })
})

describe('the preparation', () => {
  const preparing = (more: Partial<Status> = {}) => planned(-1, { phase: 'Preparing', ...more })

  test('asks for one permit for the drain and what follows', () => {
    expect(plan(seen({ event: preparing() }), NOW)).toMatchObject({
      actions: [{ kind: 'RequestPermit', permit: EVENT }],
      change: { permitRef: EVENT },
    })
  })

  test('touches nothing while the permit waits', () => {
    expect(kinds(seen({ event: preparing({ permitRef: EVENT }), permit: permit('Requested') }))).toEqual([])
  })

  test('cordons first, then drains', () => {
    const granted = { event: preparing({ permitRef: EVENT, drainStartedAt: at(0) }), permit: permit('Granted') }
    expect(kinds(seen(granted))).toEqual(['Cordon'])
    expect(kinds(seen({ ...granted, node: node(true), hasPods: true }))).toEqual(['Drain'])
    expect(phase(seen({ ...granted, node: node(true), hasPods: false }))).toBe('Prepared')
  })

  test('does not count as drained without a grant, or when the pods were not read', () => {
    const open = { event: preparing({ permitRef: EVENT }), node: node(true), hasPods: false }
    expect(phase(seen({ ...open, permit: permit('Requested') }))).toBeUndefined()
    expect(phase(seen({ ...open, permit: permit('Granted'), hasPods: undefined }))).toBeUndefined()
  })

  test('gives the node back when the permit is taken back, and asks again later under another name', () => {
    const revoked = seen({ event: preparing({ permitRef: EVENT }), permit: permit('Revoked'), node: node(true) })
    expect(kinds(revoked)).toEqual(['Uncordon'])
    const later = seen({ event: preparing({ permitRef: EVENT }), permit: permit('Revoked') })
    expect(kinds(later)).toEqual([])
    expect(kinds({ ...later, endedFor: endedFor(59_999) }, NOW + 3_600_000)).toEqual([])
    expect(plan({ ...later, endedFor: endedFor(60_000) }, NOW).actions).toMatchObject([
      { kind: 'RequestPermit', permit: `${EVENT}-p2` },
    ])
  })

  test('waits for a repair that is under way', () => {
    expect(plan(seen({ event: preparing(), runningJob: 'j' }), NOW)).toMatchObject({
      actions: [],
      waiting: { predicate: 'JobRunning' },
    })
  })
})

describe('the answer', () => {
  const prepared = (spec: Partial<Spec>, more: Partial<Status> = {}) =>
    seen({
      event: planned(-1, { phase: 'Prepared', permitRef: EVENT, ...more }, spec),
      permit: permit('Granted'),
      node: node(true),
      hasPods: false,
    })
  const policy = (answer: 'Wait' | 'Accept' | 'Start' | 'Reboot') => ({
    answer,
    postpone: false,
    podWaitMs: 0,
    windows: [],
  })
  const pending = (kind: 'Start' | 'Reboot') => ({ answer: { kind, at: at(0), outcome: 'Pending' as const } })

  test('is not given without a policy', () => {
    expect(plan(prepared({ answers: ['Start'] }), NOW)).not.toHaveProperty('change')
  })

  test('is written down before it is given, and given once', () => {
    const s = { ...prepared({ answers: ['Start'] }), policy: policy('Start') }
    expect(plan(s, NOW)).toMatchObject({ actions: [], change: { answer: { kind: 'Start', outcome: 'Pending' } } })
    const second = { ...prepared({ answers: ['Start'] }, pending('Start')), policy: policy('Start') }
    expect(plan(second, NOW).actions).toMatchObject([{ kind: 'Respond', answer: { kind: 'Start' } }])
    const given = { answer: { ...pending('Start').answer, outcome: 'Ordered' as const } }
    expect(kinds({ ...prepared({ answers: ['Start'] }, given), policy: policy('Start') })).toEqual([])
  })

  test('goes through the provider when it is a reboot, and never where data is lost', () => {
    expect(kinds({ ...prepared({}, pending('Reboot')), policy: policy('Reboot') })).toEqual(['Reboot'])
    expect(kinds({ ...prepared({ dataLoss: true }, pending('Reboot')), policy: policy('Reboot') })).toEqual([])
  })

  test('is not one that the source does not take, and not given outside the windows', () => {
    expect(plan({ ...prepared({}), policy: policy('Accept') }, NOW)).not.toHaveProperty('change')
    const windows = [[{ cron: '0 2 * * *', duration: '3h', timeZone: 'UTC' }]]
    expect(
      plan({ ...prepared({ answers: ['Start'] }), policy: { ...policy('Start'), windows } }, NOW),
    ).not.toHaveProperty('change')
  })

  test('an event before the next window is postponed once, where the policy says so', () => {
    const windows = [[{ cron: '0 2 * * 6', duration: '3h', timeZone: 'UTC' }]]
    const s = (status?: Partial<Status>) =>
      seen({
        event: event({ answers: ['Postpone'] }, { phase: 'Announced', phaseSince: at(0), ...status }),
        policy: { answer: 'Wait', postpone: true, podWaitMs: 0, windows },
      })
    expect(plan(s(), NOW).change).toMatchObject({ answer: { kind: 'Postpone', outcome: 'Pending' } })
    const pendingPostpone = { answer: { kind: 'Postpone' as const, at: at(0), outcome: 'Pending' as const } }
    expect(plan(s(pendingPostpone), NOW).actions).toMatchObject([
      { kind: 'Respond', answer: { kind: 'Postpone', until: '2026-03-07T04:00:00Z' } },
    ])
    const refused = { answer: { ...pendingPostpone.answer, outcome: 'Refused' as const } }
    expect(plan(s(refused), NOW).waiting?.predicate).toBe('WaitingForWindow')
  })
})

describe('the verification', () => {
  const verifying = (more: Partial<Status> = {}, spec: Partial<Spec> = {}) =>
    planned(
      -HOUR,
      { phase: 'Verifying', permitRef: EVENT, ...more },
      { state: 'Executed', notBefore: at(-HOUR), ...spec },
    )

  test('lasts until the machine was well for its time', () => {
    expect(plan(seen({ event: verifying() }), NOW).change).toEqual({ healthySince: at(0) })
    expect(phase(seen({ event: verifying({ healthySince: at(-4 * 60_000) }) }))).toBeUndefined()
    expect(phase(seen({ event: verifying({ healthySince: at(-5 * 60_000) }) }))).toBe('Done')
  })

  test('what the end waits for is said with its time', () => {
    const unblock = (...[status, spec]: Parameters<typeof verifying>) =>
      plan(seen({ event: verifying(status, spec) }), NOW).waiting?.unblock
    expect(unblock()).toBe('the machine is well for 5m')
    expect(unblock({ healthySince: at(-60_000) })).toBe(`the machine stays well until ${at(4 * 60_000)}`)
    expect(unblock({ healthySince: at(-60_000), phaseSince: at(-120_000) }, { state: 'Scheduled' })).toBe(
      `the machine stays well until ${at(4 * 60_000)}, and cloud no longer lists the event, which is waited for until ${at(58 * 60_000)}`,
    )
  })

  test('starts again when the machine falls ill, and fails after an hour', () => {
    const ill = { machine: machine(false) }
    expect(plan(seen({ event: verifying({ healthySince: at(-60_000) }), ...ill }), NOW).change).toEqual({
      healthySince: undefined,
    })
    expect(phase(seen({ event: verifying({ phaseSince: at(-HOUR) }), ...ill }))).toBe('Failed')
  })

  test('is passed by a machine that serves and waits for its removal, which is never Ready again', () => {
    const { metadata, ...rest } = machine(false)
    const leaving = { ...rest, metadata: { ...metadata, deletionTimestamp: at(-HOUR) } }
    expect(plan(seen({ event: verifying(), machine: leaving }), NOW).change).toEqual({ healthySince: at(0) })
    expect(plan(seen({ event: verifying(), machine: leaving, node: node(false, false) }), NOW).change).toBeUndefined()
  })

  test('does not end while the source still lists the event, for an hour', () => {
    const listed = (since: number) =>
      seen({ event: verifying({ healthySince: at(since), phaseSince: at(since) }, { state: 'Scheduled' }) })
    expect(phase(listed(-HOUR + 1_000))).toBeUndefined()
    expect(phase({ ...listed(-HOUR + 1_000), absentPolls: 2 })).toBe('Done')
    expect(phase(listed(-HOUR))).toBe('Done')
  })
})

describe('an event whose source names no time', () => {
  const untimed = (status: Partial<Status> = {}) => {
    const { notBefore: _, ...spec } = event({ state: 'Inquiring', answers: ['Accept'] }).spec
    return { ...event(), spec, status: { phase: 'Announced', phaseSince: at(0), ...status } } as MaintenanceEvent
  }
  const accepts = { answer: 'Accept', postpone: false, podWaitMs: 0, windows: [] } as const

  test('is not prepared for while no policy answers it, and says what would help', () => {
    const planned = plan(seen({ event: untimed() }), NOW)
    expect(planned.change).toBeUndefined()
    expect(planned.waiting?.unblock).toContain('spec.maintenance.answer')
    expect(phase(seen({ event: untimed({ startAt: at(0) }) }))).toBeUndefined()
  })

  test('is prepared for at once where a policy answers it and no window says otherwise', () => {
    expect(plan(seen({ event: untimed(), policy: accepts }), NOW).change).toMatchObject({ startAt: at(0) })
    expect(phase(seen({ event: untimed({ startAt: at(0) }), policy: accepts }))).toBe('Preparing')
  })

  test('waits for the next window of the policies', () => {
    const windows = [[{ cron: '0 2 * * *', duration: '2h', timezone: 'UTC' }]] as never
    const s = seen({ event: untimed(), policy: { ...accepts, windows } })
    expect(plan(s, NOW).change).toMatchObject({ startAt: at(14 * HOUR) })
    expect(phase({ ...s, event: untimed({ startAt: at(14 * HOUR) }) })).toBeUndefined()
  })
})

describe('a permit whose request left no trace in the status', () => {
  test('is named in the status before anything is disrupted under it', () => {
    const s = seen({ event: planned(-HOUR, { phase: 'Preparing' }), permit: permit('Granted') })
    expect(plan(s, NOW)).toMatchObject({ actions: [], change: { permitRef: EVENT } })
  })
})

describe('a drain that takes long', () => {
  const draining = (startedMs: number) =>
    plan(
      seen({
        event: planned(-HOUR, { phase: 'Preparing', permitRef: EVENT, drainStartedAt: at(startedMs) }),
        permit: permit('Granted'),
        node: node(true),
        hasPods: true,
      }),
      NOW,
    ).requeueAfter

  test('is tried less often: after a tenth of its time, half a minute at most', () => {
    expect([0, -60_000, -HOUR].map(draining)).toEqual([3_000, 6_000, 30_000])
  })
})

describe('a permit that the event does not name', () => {
  const stray = (phase: string): OperationPermit => ({ ...permit(phase), metadata: { name: `${EVENT}-p2`, uid: 'q' } })
  const ended = planned(-HOUR, { phase: 'Cancelled', endedAt: at(0), permitRef: EVENT })
  const preparing = (permitRef: string) => planned(-1, { phase: 'Preparing', permitRef })

  test('is given back: a controller that slept asked for it when the event was over', () => {
    const s = seen({ event: ended, strays: [stray('Granted')] })
    const result = {
      kind: 'ReportResult',
      permit: { metadata: { name: `${EVENT}-p2` } },
      target: 'uid-m',
      result: 'Released',
    }
    expect(plan(s, NOW).actions).toMatchObject([result])
    expect(kinds(seen({ event: ended, strays: [stray('Expired')] }))).toEqual([])
  })

  test('is left alone while it is the one that is asked for right now, and given back once another is named', () => {
    expect(kinds(seen({ event: preparing(EVENT), permit: permit('Revoked'), strays: [stray('Requested')] }))).toEqual(
      [],
    )
    const named = seen({ event: preparing(`${EVENT}-p3`), strays: [stray('Requested')] })
    expect(kinds(named)).toEqual(['ReportResult'])
  })
})

describe('a Node that was deleted and registered again while its host is worked on', () => {
  const of = (phaseNow: NonNullable<Status['phase']>, more: Partial<Seen> = {}) =>
    plan(
      seen({
        event: event(
          { notBefore: at(HOUR) },
          { phase: phaseNow, phaseSince: at(0), plannedFor: at(HOUR), drainedAt: at(0) },
        ),
        permit: permit('Granted'),
        ...more,
      }),
      NOW,
    ).actions.map((a) => a.kind)

  test.each(['Prepared', 'InProgress', 'Verifying'] as const)('is cordoned again: %s', (phaseNow) => {
    expect(of(phaseNow)).toContain('Cordon')
    expect(of(phaseNow, { node: node(true) })).not.toContain('Cordon')
  })

  test('is left alone without a grant, and when it was never drained', () => {
    expect(of('InProgress', { permit: permit('Revoked') })).not.toContain('Cordon')
    const missed = event({}, { phase: 'InProgress', missedAt: at(0) })
    expect(of('InProgress', { event: missed })).not.toContain('Cordon')
  })
})

describe('a permit that still waits when the work has begun', () => {
  const waiting = permit('Requested')
  const under = (spec: Partial<Spec>, status: Partial<Status>, of = waiting) =>
    plan(seen({ event: event(spec, status), permit: of }), NOW).actions.map((a) => a.kind)

  test.each([
    ['people work on the host', { source: 'People' }, { phase: 'InProgress' }],
    ['its provider works on the host', { state: 'Executing' }, { phase: 'InProgress' }],
    ['its drain never began', {}, { phase: 'InProgress', missedAt: at(0), notBefore: at(-1) }],
    ['the machine is verified', {}, { phase: 'Verifying', phaseSince: at(0), healthySince: at(0) }],
  ] as const)('is withdrawn: %s', (_, spec, status) => {
    expect(under(spec as Partial<Spec>, status as Partial<Status>)).toEqual(['ReportResult'])
    expect(under(spec as Partial<Spec>, status as Partial<Status>, permit('Granted'))).not.toContain('ReportResult')
    expect(under(spec as Partial<Spec>, status as Partial<Status>, permit('Released'))).toEqual([])
  })

  test('is kept where the drain goes on until the provider begins', () => {
    expect(under({}, { phase: 'InProgress', drainStartedAt: at(-HOUR) })).toEqual([])
  })
})

describe('after the end', () => {
  const done = (endedMs: number) => planned(-HOUR, { phase: 'Done', endedAt: at(endedMs), permitRef: EVENT })

  test('our taint goes and the slot is freed, and nothing of others is touched', () => {
    const s = seen({ event: done(0), node: node(true), permit: permit('Granted') })
    expect(plan(s, NOW).actions).toMatchObject([{ kind: 'Uncordon' }, { kind: 'ReportResult', result: 'Succeeded' }])
    expect(kinds(seen({ event: done(0) }))).toEqual([])
  })

  test('the record is deleted after thirty days, or when too many are kept', () => {
    expect(kinds(seen({ event: done(-KEPT_MS) }))).toEqual(['DeleteEvent'])
    expect(kinds(seen({ event: done(-KEPT_MS + 1_000) }))).toEqual([])
    expect(kinds(seen({ event: done(0), isSurplus: true }))).toEqual(['DeleteEvent'])
  })

  test('a deleted event gives its node and its slot back before it is gone, whatever its phase and whatever the caches show', () => {
    const deleted = (e: MaintenanceEvent) => ({ ...e, metadata: { ...e.metadata, deletionTimestamp: at(0) } })
    for (const phase of ['Preparing', 'Prepared', 'InProgress', 'Verifying', 'Done'] as const) {
      const left = seen({ event: deleted(planned(-HOUR, { phase, permitRef: EVENT })), permit: permit('Granted') })
      expect(plan(left, NOW)).toMatchObject({
        actions: [{ kind: 'Uncordon' }, { kind: 'ReportResult', result: 'Released' }, { kind: 'ReleaseRecord' }],
      })
    }
    expect(kinds(seen({ event: deleted(planned(HOUR)), node: undefined }))).toEqual(['ReleaseRecord'])
  })

  test('an event is held before its permit is asked for, so that its node is uncordoned whoever deletes it', () => {
    const open = planned(-HOUR, { phase: 'Preparing' })
    expect(kinds(seen({ event: { ...open, metadata: { ...open.metadata, finalizers: [] } } }))).toEqual(['KeepRecord'])
    expect(kinds(seen({ event: open }))).toEqual(['RequestPermit'])
  })

  test('a machine that was deleted ends its event', () => {
    expect(phase(seen({ event: planned(HOUR), machine: undefined }))).toBe('Cancelled')
  })
})

const approvedPermit = (): OperationPermit => {
  const granted = permit('Granted')
  return { ...granted, status: { ...granted.status, approvedBy: ['cyd'] } }
}
const preparing = (spec: Partial<Spec>) =>
  event({ source: 'People', plannedBy: 'ada', ...spec }, { phase: 'Preparing', permitRef: EVENT })
const notes = (s: Seen) => plan(s, NOW).notices.map(({ reason, message }) => `${reason} ${message}`)

describe('the users behind work', () => {
  test('who approved is kept with the drain, and the event names both', () => {
    const drained = seen({ event: preparing({}), node: node(true), permit: approvedPermit(), hasPods: false })
    expect(plan(drained, NOW).change).toMatchObject({ phase: 'Prepared', approvedBy: ['cyd'] })
    expect(notes(drained)).toEqual([
      'MaintenancePrepared Reboot of the host of m-1 by ada: the node is drained, as cyd approved',
    ])
  })

  test.each([
    ['called off', 'Cancelled', 'MaintenanceEnded Reboot of the host of m-1 by ada: bob cancelled it'],
    [
      'ended',
      'Executed',
      'MaintenanceEnded Reboot of the host of m-1 by ada: bob ended it; the machine must be well again',
    ],
  ] as const)('who %s it is in the event', (_, state, message) => {
    expect(notes(seen({ event: preparing({ state, endedBy: 'bob' }), permit: permit('Granted') }))).toEqual([message])
  })

  test('approvals, drains and misses of an earlier time are not those of the next one', () => {
    const moved = event({ notBefore: at(48 * HOUR) }, { phase: 'Prepared', plannedFor: at(HOUR), approvedBy: ['cyd'] })
    const { change } = plan(seen({ event: moved, permit: approvedPermit(), node: node(true) }), NOW)
    expect(change?.phase).toBe('Announced')
    for (const field of ['approvedBy', 'drainStartedAt', 'drainedAt', 'missedAt', 'bootID'])
      expect(change).toHaveProperty(field, undefined)
  })
})

describe('pods that ask for time', () => {
  const training = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'train', namespace: 'ml', uid: 'pod', annotations: { 'kubenode.io/drain-wait': '3h' } },
    status: { phase: 'Running' },
  } as NonNullable<Seen['pods']>[number]
  const draining = (notBeforeMs: number, podWaitMs: number) => {
    const preparing = event(
      { notBefore: at(notBeforeMs) },
      { phase: 'Preparing', permitRef: EVENT, drainStartedAt: at(-HOUR / 4) },
    )
    const policy = { answer: 'Wait', postpone: false, podWaitMs, windows: [] } as const
    const s = seen({
      event: preparing,
      permit: permit('Granted'),
      node: node(true),
      hasPods: true,
      pods: [training],
      policy,
    })
    const { actions, waiting } = plan(s, NOW)
    const drain = actions.find((a) => a.kind === 'Drain')
    return [drain?.kind === 'Drain' ? drain.waits?.mostMs : undefined, waiting?.seen]
  }

  test('are waited for as long as the policy allows', () => {
    expect(draining(6 * HOUR, HOUR)).toEqual([
      HOUR,
      'waiting for the next checkpoint of ml/train (1 pod here), at most 45m more',
    ])
  })

  test('leave the drain half of the time until the event', () => {
    expect(draining((HOUR * 3) / 4, HOUR)[0]).toBe(HOUR / 2)
  })

  test('are not waited for without a policy', () => {
    expect(draining(6 * HOUR, 0)).toEqual([undefined, '1 pod left, such as ml/train'])
  })

  test('make the preparation begin earlier', () => {
    const policy = { answer: 'Wait', postpone: false, podWaitMs: HOUR, windows: [] } as const
    expect(plan(seen({ event: event({ notBefore: at(10 * HOUR) }), policy }), NOW).change?.lead).toBe('3h')
  })
})
