// What a TTL does to a control plane: stop, delete, announce, wait; and nothing to another Cluster's control plane.
import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { ANNOTATIONS, FINALIZERS } from '#api/names.ts'
import type { ControlPlane } from '#controlplanes/port.ts'
import { timestamp } from '#lib/clock.ts'
import { QUIET } from '#test/doubles/quiet-cluster.ts'
import { runningPlane } from '#test/doubles/running-plane.ts'
import type { ClusterPlan } from './actions.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'
import { statusOf } from './status.ts'

const START = Date.UTC(2030, 0, 1)
const HOUR = 3_600_000
const OVER = START + HOUR
const FROM_GIT = { [ANNOTATIONS.source]: 'fleet/fleet' }

const plane = runningPlane('fleet.pr-7')

interface Wild {
  readonly metadata?: object
  readonly spec?: object
  readonly status?: object
  readonly seen?: Partial<Seen>
}

const clusterOf = ({ metadata, spec, status }: Wild): Cluster =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Cluster',
    metadata: {
      namespace: 'fleet',
      name: 'pr-7',
      uid: 'u-1',
      creationTimestamp: timestamp(START),
      finalizers: [FINALIZERS.cluster],
      annotations: FROM_GIT,
      ...metadata,
    },
    spec: {
      ttl: '1h',
      version: '1.36.0',
      controlPlane: { flavor: 'embedded' },
      deletionPolicy: 'Delete',
      ...spec,
    },
    status: { addons: [{ name: 'kubenode', version: 'v', healthy: 'True' }], ...status },
  }) as unknown as Cluster

const seenOf = (wild: Wild = {}): Seen => ({
  ...QUIET,
  addons: 'v',
  cluster: clusterOf(wild),
  plane,
  host: { name: 'embedded', capabilities: { isHighlyAvailable: false, minors: ['1.36'], most: 9 } },
  kubeconfig: {
    owner: 'u-1',
    endpoint: plane.endpoint,
    ca: 'ca',
    authorities: [],
    signedBy: undefined,
    from: START,
    until: START + 2_160 * HOUR,
  },
  ...wild.seen,
})

const kinds = ({ actions }: ClusterPlan): readonly string[] => actions.map((a) => a.kind)

/** The Defender grants everything that is requested. */
function granted(seen: Seen, now: number): Seen {
  const ask = plan(seen, now).actions.find((a) => a.kind === 'RequestPermit')
  if (ask?.kind !== 'RequestPermit') throw new Error('no permit is requested')
  const permit = {
    metadata: { name: ask.permit, uid: 'p-1', creationTimestamp: timestamp(now) },
    spec: ask.request,
    status: {
      phase: 'Granted',
      verdicts: [{ target: 'u-1', verdict: 'Granted' }],
      expiresAt: timestamp(now + HOUR),
    },
  } as unknown as Seen['permits'][number]
  return { ...seen, permits: [permit] }
}

describe('at the end of its time', () => {
  test('a control plane whose Cluster git declares is stopped, with a permit, and its object stays', () => {
    const seen = seenOf()
    expect(kinds(plan(seen, OVER - 1))).toEqual([])
    const first = plan(seen, OVER)
    expect([kinds(first), first.phase]).toEqual([['RequestPermit'], 'Ready'])
    const second = plan(granted(seen, OVER), OVER)
    expect([kinds(second).filter((k) => k !== 'RenewPermit'), second.phase]).toEqual([
      ['Stop', 'ReportResult'],
      'Expired',
    ])
    const stopped = seenOf({ seen: { plane: { ...plane, state: 'Stopped' } } })
    expect(plan(stopped, OVER)).toMatchObject({ actions: [], phase: 'Expired' })
  })

  test('a Cluster that git does not declare is deleted, whether it was made or not', () => {
    const seen = seenOf({ metadata: { annotations: {} } })
    expect(kinds(plan(seen, OVER))).toEqual(['DeleteCluster'])
    expect(kinds(plan({ ...seen, plane: undefined }, OVER))).toEqual(['DeleteCluster'])
    expect(kinds(plan(seen, OVER - 1))).toEqual([])
  })

  test('nothing is made, and the control plane of an earlier Cluster is not stopped', () => {
    expect(plan(seenOf({ seen: { plane: undefined } }), OVER)).toMatchObject({ actions: [], phase: 'Expired' })
    const kept = seenOf({ seen: { plane: { ...plane, owner: 'u-0' } } })
    expect(plan(kept, OVER)).toMatchObject({ actions: [], phase: 'Expired' })
  })

  test('nothing is decided while the host does not answer', () => {
    const seen = seenOf({ metadata: { annotations: {} }, seen: { plane: undefined, unanswered: 'no answer' } })
    expect(plan(seen, OVER)).toMatchObject({ actions: [], wait: { predicate: 'HostUnreachable' }, requeueAfter: 5_000 })
  })

  test('a longer time brings it back', () => {
    const seen = seenOf({ spec: { ttl: '2h' }, seen: { plane: { ...plane, state: 'Stopped' } } })
    expect(plan(seen, OVER)).toMatchObject({ actions: [{ kind: 'Put' }], phase: 'Creating' })
  })
})

test('what its expiry stopped is started once more at its deletion, so that its machines are removed, but not for longer than they have', () => {
  const leaving = seenOf({
    metadata: { deletionTimestamp: timestamp(OVER) },
    status: {
      expiresAt: timestamp(OVER),
      history: [{ version: '1.36.0', startedAt: timestamp(OVER), message: 'created' }],
    },
    seen: { plane: { ...plane, state: 'Stopped' } },
  })
  const seen = granted(leaving, OVER)
  expect(kinds(plan(seen, OVER)).filter((k) => k !== 'RenewPermit')).toEqual(['Put'])
  expect(kinds(plan(seen, OVER + 10 * 60_000))).toContain('Delete')
  const final = { name: 'final-u-1' } as unknown as ControlPlane['snapshots'][number]
  const again = { ...seen, plane: { ...plane, state: 'Stopped' as const, snapshots: [final] } }
  expect(kinds(plan(again, OVER))).toContain('Delete')
})

describe('the limit of a policy', () => {
  const older = clusterOf({ metadata: { name: 'pr-6', uid: 'u-0', creationTimestamp: timestamp(START - 1_000) } })
  const limited = { caps: { maxEphemeral: 1 }, hosted: [older] }

  test('lets a younger Cluster wait, and stops none that runs', () => {
    expect(plan(seenOf({ seen: { ...limited, plane: undefined } }), START)).toMatchObject({
      actions: [],
      phase: 'Pending',
      wait: { predicate: 'EphemeralLimit' },
    })
    expect(plan(seenOf({ seen: limited }), START).wait).toBeUndefined()
    expect(plan(seenOf({ spec: { ttl: undefined }, seen: { ...limited, plane: undefined } }), START)).toMatchObject({
      actions: [{ kind: 'Put' }],
    })
  })

  test('on the time stops a control plane before its own end', () => {
    expect(kinds(plan(seenOf({ seen: { caps: { maxTtlMs: HOUR / 2 } } }), START + HOUR / 2))).toEqual(['RequestPermit'])
  })
})

describe('the end is announced', () => {
  const at = (now: number, wild: Wild = {}) => {
    const seen = seenOf(wild)
    const planned = plan(seen, now)
    return { planned, status: statusOf(seen, planned, [], now) }
  }
  const conditionOf = ({ conditions = [] }: ReturnType<typeof statusOf>, type: string) =>
    conditions.find((c) => c.type === type)

  test('in the status from the start, and by a condition and one event after four fifths', () => {
    const early = at(START)
    expect(early.status.expiresAt).toBe(timestamp(OVER))
    expect(conditionOf(early.status, 'Expiring')).toMatchObject({ status: 'False', reason: 'LifetimeRunning' })
    expect(early.planned.notices).toEqual([])
    const late = at(START + 0.8 * HOUR, { status: early.status })
    expect(conditionOf(late.status, 'Expiring')).toMatchObject({ status: 'True', reason: 'LifetimeEnding' })
    expect(late.planned.notices).toMatchObject([{ reason: 'LifetimeEnding', severity: 'Warning' }])
    expect(at(START + 0.8 * HOUR, { status: late.status }).planned.notices).toEqual([])
  })

  test('and is looked at again when it comes', () => {
    expect(at(OVER - 1_000).planned.requeueAfter).toBe(1_000)
  })

  test('a Cluster that expired is not Ready because of its time, and one without a time has no end', () => {
    const over = at(OVER, { seen: { plane: { ...plane, state: 'Stopped' } } })
    expect(conditionOf(over.status, 'Ready')).toMatchObject({ status: 'False', reason: 'LifetimeOver' })
    const unlimited = at(OVER, { spec: { ttl: undefined }, status: over.status })
    expect(unlimited.status.expiresAt).toBeUndefined()
    expect(conditionOf(unlimited.status, 'Expiring')).toBeUndefined()
  })
})
