// A deletion removes the machines first, within a time that starts with its permit. If the final snapshot keeps failing it is retried, and the
// deletion continues without it only with an approval that names the loss.
import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { FINALIZERS } from '#api/names.ts'
import type { ControlPlane } from '#controlplanes/port.ts'
import { timestamp } from '#lib/clock.ts'
import { approvalDigest } from '#permits/approval-digest.ts'
import { QUIET } from '#test/doubles/quiet-cluster.ts'
import { runningPlane } from '#test/doubles/running-plane.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'
import { statusOf } from './status.ts'

const START = Date.UTC(2030, 0, 1)
const MINUTE = 60_000
const LATE = START + 30 * MINUTE

const OLD = { name: 'scheduled-1', takenAt: '2029-12-31T23:00:00Z', version: '1.36.0', bytes: 1, objects: 1 }

const seenOf = (plane: Partial<ControlPlane> = {}): Seen => ({
  ...QUIET,
  addons: 'v',
  cluster: {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Cluster',
    metadata: {
      namespace: 'fleet',
      name: 'one',
      uid: 'u-1-and-more',
      finalizers: [FINALIZERS.cluster],
      deletionTimestamp: timestamp(START),
    },
    spec: { version: '1.36.0', controlPlane: { flavor: 'kubernetes' }, deletionPolicy: 'Delete' },
  } as unknown as Cluster,
  plane: { ...runningPlane('fleet.one'), owner: 'u-1-and-more', state: 'Stopped', ...plane },
  host: {
    name: 'kubernetes',
    capabilities: { isHighlyAvailable: true, keepsCredentials: true, minors: ['1.36'], most: 9 },
  },
  kubeconfig: undefined,
})

/** The Defender grants everything that is requested. */
function granted(seen: Seen, now: number): Seen {
  let permits = seen.permits
  for (;;) {
    const ask = plan({ ...seen, permits }, now).actions.find((a) => a.kind === 'RequestPermit')
    if (ask?.kind !== 'RequestPermit') return { ...seen, permits }
    const permit = {
      metadata: { name: ask.permit, uid: ask.permit, creationTimestamp: timestamp(now) },
      spec: ask.request,
      status: {
        phase: 'Granted',
        verdicts: [{ target: 'u-1-and-more', verdict: 'Granted' }],
        expiresAt: timestamp(now + 60 * MINUTE),
      },
    } as unknown as Seen['permits'][number]
    permits = [...permits, permit]
  }
}

const approving = (seen: Seen): Seen => ({
  ...seen,
  approved: new Set(seen.permits.map((p) => approvalDigest(p.spec))),
})
const actionsOf = (seen: Seen, now: number) => plan(seen, now).actions.filter((a) => a.kind !== 'RenewPermit')
const kindsOf = (seen: Seen, now: number) =>
  actionsOf(seen, now).map((a) => (a.kind === 'Delete' ? `Delete ${a.keep ?? ''}` : a.kind))

test('within half an hour nothing but the final snapshot is waited for', () => {
  const seen = approving(granted(seenOf({ state: 'Running' }), LATE - 1))
  expect(kindsOf(seen, LATE - 1)).toEqual([
    'Stop',
    'Snapshot',
    'Delete final-u-1-and-',
    'ReportResult',
    'RemoveFinalizer',
  ])
  expect(plan(seen, LATE - 1).wait).toBeUndefined()
})

test.each<[string, Partial<ControlPlane>, string, string]>([
  [
    'with an older snapshot',
    { snapshots: [OLD] },
    'delete it without a final snapshot; writes since 2029-12-31T23:00:00Z are lost, scheduled-1 is kept for a week',
    'scheduled-1',
  ],
  ['with none', {}, 'delete it without any snapshot; all of its data is lost', ''],
])('later it waits for an approval that names the loss, %s, and still tries', (_, plane, loss, keep) => {
  const seen = granted(seenOf(plane), LATE)
  expect(kindsOf(seen, LATE)).toEqual(['Snapshot', 'Delete final-u-1-and-', 'ReportResult', 'RemoveFinalizer'])
  expect(plan(seen, LATE).wait).toMatchObject({
    predicate: 'ApprovalMissing',
    seen: loss,
    unblock: expect.stringContaining('kubenode approve permit/cluster-one-'),
  })
  expect(kindsOf(approving(seen), LATE)).toEqual([`Delete ${keep}`, 'ReportResult', 'ReportResult', 'RemoveFinalizer'])
})

describe('a Cluster that git declares', () => {
  const running = { ...seenOf({ state: 'Running' as const }), isDeclared: true, machines: ['m-1'] }
  const hold = (target: object, until: number): Seen['holds'] =>
    [
      {
        metadata: { name: 'h' },
        spec: { effect: 'Unprotect', target, reason: 'r', author: 'ada', until: timestamp(until) },
      },
    ] as unknown as Seen['holds']

  test('is not torn down when it is deleted by hand, and says what ends the wait', () => {
    for (const now of [START, START + 24 * 60 * MINUTE]) {
      expect(kindsOf(running, now)).toEqual([])
      expect(plan(running, now).wait).toMatchObject({
        predicate: 'StillDeclared',
        unblock: 'remove it from git, or run kubenode unprotect cluster/one --reason WHY',
      })
    }
  })
  test.each<[string, Partial<Seen>]>([
    ['git no longer does', { isDeclared: false }],
    ['a person lifted its protection', { holds: hold({ kind: 'Cluster', name: 'one' }, START + MINUTE) }],
  ])('is torn down once %s', (_, wish) => {
    expect(kindsOf({ ...running, ...wish }, START)).toEqual(['RequestPermit'])
  })
  test.each<[string, Seen['holds']]>([
    ['ended', hold({ kind: 'Cluster', name: 'one' }, START - 1)],
    ['on all clusters', hold({ kind: 'Cluster', selector: {} }, START + MINUTE)],
    ['on another', hold({ kind: 'Cluster', name: 'two' }, START + MINUTE)],
  ])('is not torn down under a hold %s', (_, holds) => {
    expect(kindsOf({ ...running, holds }, START)).toEqual([])
  })
  test('whose deletion began under a hold is torn down also after the hold ended', () => {
    const lifted = { ...running, holds: hold({ kind: 'Cluster', name: 'one' }, START + MINUTE) }
    const begun = granted(lifted, START)
    expect(kindsOf({ ...begun, machines: [] }, START + 5 * MINUTE)).toContain('Snapshot')
  })
})

test('an approval of the deletion is none of the loss', () => {
  const seen = granted(seenOf(), LATE)
  const [deletion] = seen.permits
  if (deletion === undefined) throw new Error('no permit')
  expect(kindsOf({ ...seen, approved: new Set([approvalDigest(deletion.spec)]) }, LATE)).toContain('Snapshot')
})

test('a final snapshot that is there needs no approval', () => {
  const seen = granted(seenOf({ snapshots: [{ ...OLD, name: 'final-u-1-and-' }] }), LATE)
  expect(seen.permits).toHaveLength(1)
  expect(kindsOf(seen, LATE)).toContain('Delete final-u-1-and-')
})

test('the status has the loss, and why the snapshot is not there', () => {
  const seen = granted(seenOf(), LATE)
  const planned = plan(seen, LATE)
  const results = actionsOf(seen, LATE).map((action) => ({
    action,
    outcome: { kind: 'Unfinished' as const, reason: 'the volume is full' },
  }))
  expect(statusOf(seen, planned, results, LATE).waitingFor).toMatchObject({
    predicate: 'ApprovalMissing',
    seen: 'delete it without any snapshot; all of its data is lost; Snapshot: the volume is full',
  })
})

const READY = { history: [{ version: '1.36.0', startedAt: timestamp(START), message: 'created' }] }
const served = (plane: Partial<ControlPlane>, machines?: readonly string[]): Seen => {
  const seen = seenOf(plane)
  return { ...seen, machines, cluster: { ...seen.cluster, status: READY } }
}

/** The Defender decides later than the request. */
const decided = (seen: Seen, at: number): Seen => ({
  ...seen,
  permits: seen.permits.map((p) => ({ ...p, status: { ...p.status, decidedAt: timestamp(at) } })),
})

test('the time of the machines begins with the permit, however long it was waited for', () => {
  const grantedAt = START + 45 * MINUTE
  const seen = decided(granted(served({ state: 'Running' }, ['m-1']), grantedAt), grantedAt)
  expect(kindsOf(seen, grantedAt)).toEqual(['RemoveMachines'])
  expect(kindsOf(seen, grantedAt + 10 * MINUTE - 1)).toEqual(['RemoveMachines'])
  const over = plan(seen, grantedAt + 10 * MINUTE)
  expect(over.notices).toMatchObject([{ reason: 'MachinesLeft', message: 'not removed with the cluster: m-1' }])
  expect(over.actions.map((a) => a.kind)).toContain('Snapshot')
  // Nor is an approval for the loss of the final snapshot requested before half an hour of attempts.
  expect(over.wait).toBeUndefined()
})

test.each<[string, Partial<ControlPlane>, readonly string[]]>([
  ['its API server does not answer', { state: 'Running' }, []],
  ['its host was started a moment ago', { state: 'Starting' }, ['Put']],
  ['its API server failed', { state: 'Failed', message: 'no space left on device' }, ['Put']],
])('machines that cannot be read are waited for, not given up: %s', (_, plane, kinds) => {
  const seen = granted(served(plane), START)
  expect(kindsOf(seen, START)).toEqual(kinds)
  expect(plan(seen, START).wait).toMatchObject({
    predicate: 'MachinesRemain',
    seen: expect.stringContaining('its machines are not known'),
    unblock: 'its API server answers; after 10 more minutes the deletion continues without',
  })
  const over = plan(seen, START + 10 * MINUTE)
  expect(over.actions.map((a) => a.kind)).toContain('Delete')
  expect(over.notices).toMatchObject([{ reason: 'MachinesLeft', severity: 'Warning' }])
})

test.each<[string, Seen]>([
  ['it never was ready', seenOf({ state: 'Failed' })],
  ['this deletion stopped it', served({ state: 'Stopped' })],
  ['its API server has none', served({ state: 'Running' }, [])],
])('no machine is waited for: %s', (_, seen) => {
  const planned = plan(granted(seen, START), START)
  expect(planned.actions.map((a) => a.kind)).toContain('Delete')
  expect(planned.notices).toEqual([])
})
