// The snapshot schedule: taken in time, kept as declared, reported when none was verified for too long; with jumping clocks and failing hosts.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Cluster, ClusterStatus } from '#api/kinds/cluster.ts'
import { FINALIZERS } from '#api/names.ts'
import type { ControlPlane, Snapshot } from '#controlplanes/port.ts'
import { findCondition } from '#kube/conditions.ts'
import { timestamp } from '#lib/clock.ts'
import { inFull } from '#test/support/tools/full.ts'
import { QUIET } from '#test/doubles/quiet-cluster.ts'
import { runningPlane } from '#test/doubles/running-plane.ts'
import { clusterFigures } from '../metrics.ts'
import { plan } from '../plan.ts'
import { scheduleOf } from './schedule.ts'
import type { Seen } from '../seen.ts'
import { statusOf } from '../status.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { defined } from '#lib/defined.ts'

const START = Date.UTC(2030, 0, 1)
const MINUTE = 60_000
const HOUR = 60 * MINUTE

const snapshotAt = (name: string, at: number): Snapshot => ({
  name,
  takenAt: timestamp(at),
  bytes: 1,
  objects: 1,
  version: '1.36.0',
})

interface Wild {
  readonly plane?: Partial<ControlPlane> | undefined
  readonly controlPlane?: object
  readonly status?: ClusterStatus
  readonly metadata?: object
  readonly unanswered?: string
}

function seenOf({ plane = {}, controlPlane, status, metadata, unanswered }: Wild): Seen {
  const running = runningPlane('fleet.one')
  return {
    ...QUIET,
    addons: 'v',
    cluster: {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Cluster',
      metadata: { namespace: 'fleet', name: 'one', uid: 'u-1', finalizers: [FINALIZERS.cluster], ...metadata },
      spec: {
        version: '1.36.0',
        controlPlane: { flavor: 'embedded', snapshots: { every: '1h', keep: 2 }, ...controlPlane },
        deletionPolicy: 'Delete',
      },
      status: { phase: 'Ready', addons: [{ name: 'kubenode', version: 'v', healthy: 'True' }], ...status },
    } as unknown as Cluster,
    plane: { ...running, ...plane },
    host: { name: 'embedded', capabilities: { isHighlyAvailable: false, minors: ['1.36'], most: 9 } },
    unanswered,
    kubeconfig: {
      owner: 'u-1',
      endpoint: running.endpoint,
      ca: 'ca',
      authorities: [],
      signedBy: undefined,
      // Valid however far a test sets the clock back: a kubeconfig from the future is renewed before anything else.
      from: START - 9_000 * HOUR,
      until: START + 18_000 * HOUR,
    },
  }
}

const due = (wild: Wild, now: number) =>
  plan(seenOf(wild), now).actions.flatMap((a) => (a.kind === 'ScheduledSnapshot' ? [a.name] : []))
const dropped = (wild: Wild, now: number) =>
  plan(seenOf(wild), now).actions.flatMap((a) => (a.kind === 'DropSnapshots' ? a.names : []))

describe('what is due', () => {
  const one = [snapshotAt('scheduled-1', START)]
  test.each<[string, Wild, number, readonly string[]]>([
    ['the first one at once', {}, START, ['scheduled-20300101t000000z']],
    ['none before the interval is over', { plane: { snapshots: one } }, START + HOUR - 1, []],
    ['one when it is over', { plane: { snapshots: one } }, START + HOUR, ['scheduled-20300101t010000z']],
    [
      'the one that was begun, under its name',
      { plane: { snapshots: one, taking: 'scheduled-2' } },
      START + 2 * HOUR,
      ['scheduled-2'],
    ],
    [
      'one of the schedule although a user asked for another',
      { plane: { snapshots: one, taking: 'mine' } },
      START + HOUR,
      ['scheduled-20300101t010000z'],
    ],
    ['none while it does not run', { plane: { state: 'Starting', snapshots: one } }, START + HOUR, []],
    ['none of a host that does not answer', { unanswered: 'no answer' }, START, []],
    ['none without a schedule', { controlPlane: { snapshots: undefined } }, START, []],
    [
      'one after the clock was set back',
      { plane: { snapshots: one } },
      START - 300 * HOUR,
      ['scheduled-20291219t120000z'],
    ],
    ['none of a Cluster that is deleted', { metadata: { deletionTimestamp: timestamp(START) } }, START, []],
  ])('%s', (_, wild, now, names) => {
    expect(due(wild, now)).toEqual(names)
  })

  test('an interval that would do nothing but snapshots is refused', () => {
    const planned = plan(seenOf({ controlPlane: { snapshots: { every: '10s', keep: 1 } } }), START)
    expect(planned.wait).toMatchObject({
      predicate: 'InvalidSpec',
      seen: 'controlPlane.snapshots.every 10s is less than 5m',
    })
  })
})

describe('what is dropped', () => {
  const snapshots = [
    snapshotAt('scheduled-1', START),
    snapshotAt('mine', START + 1_000),
    snapshotAt('scheduled-2', START + HOUR),
    snapshotAt('scheduled-3', START + 2 * HOUR),
  ]
  test.each<[string, Wild, number, readonly string[]]>([
    [
      'the oldest of the schedule, and none that a user asked for',
      { plane: { snapshots } },
      START + 2 * HOUR,
      ['scheduled-1'],
    ],
    ['none while the newest is not there', { plane: { snapshots: snapshots.slice(0, 3) } }, START + 2 * HOUR, []],
    [
      'none that is to be restored',
      {
        plane: { snapshots, restored: 'scheduled-1/1' },
        controlPlane: { restore: { snapshot: 'scheduled-1', attempt: 1 } },
      },
      START + 2 * HOUR,
      [],
    ],
    [
      'those of the future first, after the clock was set back',
      { plane: { snapshots } },
      START + 1_000,
      ['scheduled-2'],
    ],
  ])('%s', (_, wild, now, names) => {
    expect(dropped(wild, now)).toEqual(names)
  })
})

describe('none was verified for too long', () => {
  const since = { snapshotSchedule: { since: timestamp(START), nextAt: timestamp(START) } }
  const late = START + 2 * HOUR + 30 * MINUTE + 1_000
  const told = (wild: Wild, now: number, problem?: string) => {
    const seen = seenOf(wild)
    const planned = plan(seen, now)
    const results = planned.actions.map((action) => ({
      action,
      outcome: { kind: 'Applied' as const, object: { problem } },
    }))
    return { planned, status: statusOf(seen, planned, results, now) }
  }

  test('it is a condition with the reason, an event, and a figure', async () => {
    const { planned, status } = told({ status: since }, late, 'pod snapshot-1 has no node')
    expect(findCondition(status.conditions, 'SnapshotsCurrent')).toMatchObject({
      status: 'False',
      reason: 'SnapshotOverdue',
      message:
        'no snapshot was opened yet; the next one was due before 2030-01-01T02:30:00Z: pod snapshot-1 has no node',
    })
    expect(planned.notices).toMatchObject([{ reason: 'SnapshotOverdue', severity: 'Warning' }])
    expect(told({ status }, late + 1).planned.notices).toEqual([])
    const { registry } = createMetrics()
    const figures = clusterFigures(registry, () => [{ ...seenOf({}).cluster, status }, seenOf({}).cluster])
    await figures.start(new AbortController().signal)
    expect(await registry.metrics()).toContain('kubenode_snapshots_overdue 1')
  })

  test('the status has the last one that was opened, when the next one is due, and what it waits for', () => {
    const plane = { snapshots: [snapshotAt('scheduled-1', START), snapshotAt('mine', START + HOUR)] }
    expect(
      told({ plane, status: since }, START + HOUR, 'Job snapshot-1 takes the snapshot').status.snapshotSchedule,
    ).toEqual({
      since: timestamp(START),
      last: 'mine',
      lastAt: timestamp(START + HOUR),
      nextAt: timestamp(START + HOUR),
      message: 'Job snapshot-1 takes the snapshot',
    })
    expect(findCondition(told({ plane, status: since }, late).status.conditions, 'SnapshotsCurrent')?.status).toBe(
      'True',
    )
  })

  test.each<[string, Wild, string]>([
    ['a control plane that does not run', { plane: { state: 'Starting' } }, 'the control plane is Starting'],
    [
      'a host that does not answer',
      { unanswered: 'connection refused' },
      'the host does not answer: connection refused',
    ],
  ])('%s is the reason', (_, wild, message) => {
    expect(told({ status: since, ...wild }, late).status.snapshotSchedule?.message).toBe(message)
  })

  test('a schedule that was just declared, or a clock that was set back, is no alarm', () => {
    expect(scheduleOf(seenOf({}), START + 9_999 * HOUR)?.isOverdue).toBe(false)
    expect(scheduleOf(seenOf({ status: since }), START - 999 * HOUR)?.isOverdue).toBe(false)
  })

  test('without the schedule the condition and the status are gone', () => {
    const { status } = told({ status: since }, late)
    const after = told({ status, controlPlane: { snapshots: undefined } }, late).status
    expect([after.snapshotSchedule, findCondition(after.conditions, 'SnapshotsCurrent')]).toEqual([
      undefined,
      undefined,
    ])
  })
})

const WORLDS = inFull(1_000, 150)
const TICKS = 200

test(`in ${WORLDS} worlds with clocks that jump and hosts that fail, one is always kept, never more than declared for long, and a calm hour ends with a fresh one`, () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(9), fc.integer({ min: -50, max: 50 })), { minLength: TICKS, maxLength: TICKS }),
      (steps) => {
        let now = START
        let snapshots: readonly Snapshot[] = []
        let taking: string | undefined
        const tick = (isFailing: boolean): void => {
          now += 10 * MINUTE
          for (const action of plan(seenOf({ plane: { snapshots, ...defined({ taking }) } }), now).actions) {
            if (action.kind === 'DropSnapshots') {
              snapshots = snapshots.filter((s) => !action.names.includes(s.name))
              expect(snapshots.length).toBeGreaterThan(0)
            }
            if (action.kind !== 'ScheduledSnapshot') continue
            taking = action.name
            if (isFailing) continue
            if (!snapshots.some((s) => s.name === action.name)) snapshots = [...snapshots, snapshotAt(action.name, now)]
            taking = undefined
          }
          expect(snapshots.length).toBeLessThanOrEqual(3)
        }
        for (const [dice, hours] of steps) {
          if (dice === 0) now += hours * HOUR
          tick(dice < 3)
        }
        for (let calm = 0; calm < 8; calm++) tick(false)
        const newest = scheduleOf(seenOf({ plane: { snapshots } }), now)?.verified
        expect(now - Date.parse(newest?.takenAt ?? '')).toBeLessThanOrEqual(HOUR)
        expect(snapshots.length).toBeLessThanOrEqual(3)
      },
    ),
    { numRuns: WORLDS },
  )
})
