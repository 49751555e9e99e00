// Versions that are reached in steps: which of them need an approval, and that a restore continues even if its approval has expired.
import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { FINALIZERS } from '#api/names.ts'
import type { ControlPlane } from '#controlplanes/port.ts'
import { approvalDigest } from '#permits/approval-digest.ts'
import { timestamp } from '#lib/clock.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { QUIET } from '#test/doubles/quiet-cluster.ts'
import { runningPlane } from '#test/doubles/running-plane.ts'
import { clusterFigures } from './metrics.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'
import { statusOf } from './status.ts'

const NOW = Date.UTC(2030, 0, 1)
const SINCE = '2029-12-31T23:00:00Z'
const OVER = { from: '1.35.9', to: '1.36.2', message: 'done', wayBack: { snapshot: 'edge-1', since: SINCE } } as const

const seenOf = (plane: Partial<ControlPlane>, version: string): Seen => ({
  ...QUIET,
  addons: 'v',
  cluster: {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Cluster',
    metadata: { namespace: 'fleet', name: 'one', uid: 'u-1', finalizers: [FINALIZERS.cluster] },
    spec: { version, controlPlane: { flavor: 'kubernetes' }, deletionPolicy: 'Delete' },
    status: { phase: 'Ready', addons: [{ name: 'kubenode', version: 'v', healthy: 'True' }] },
  } as unknown as Cluster,
  plane: { ...runningPlane('fleet.one'), ...plane },
  host: {
    name: 'kubernetes',
    capabilities: { isHighlyAvailable: true, keepsCredentials: true, minors: ['1.35', '1.36'], most: 9 },
  },
  kubeconfig: undefined,
})

/** The Defender grants what is requested, and a person approves it if `isApproved`. */
function next(seen: Seen, isApproved: boolean) {
  const ask = plan(seen, NOW).actions.find((a) => a.kind === 'RequestPermit')
  if (ask?.kind !== 'RequestPermit') throw new Error('no permit is requested')
  const permit = {
    metadata: { name: ask.permit, uid: 'p-1', creationTimestamp: timestamp(NOW) },
    spec: ask.request,
    status: {
      phase: 'Granted',
      verdicts: [{ target: 'u-1', verdict: 'Granted' }],
      expiresAt: timestamp(NOW + 3_600_000),
    },
  } as unknown as Seen['permits'][number]
  const approved = new Set(isApproved ? [approvalDigest(permit.spec)] : [])
  return { reason: ask.reason, ...plan({ ...seen, permits: [permit], approved }, NOW) }
}

const approvedIn = ({ actions }: ReturnType<typeof next>) =>
  actions.flatMap((a) => (a.kind === 'Put' ? [a.request.upgrade?.approvedRestore ?? 'none'] : []))

test('a version that comes back within the second in which it began has an entry of its own', () => {
  const seen = seenOf({ version: '1.35.9' }, '1.35.9')
  const history = ['1.35.9', '1.36.2'].map((version) => ({ version, startedAt: timestamp(NOW) }))
  const cluster = { ...seen.cluster, status: { ...seen.cluster.status, history } } as unknown as Cluster
  const status = statusOf({ ...seen, cluster }, plan({ ...seen, cluster }, NOW), [], NOW)
  expect(status.history?.map((h) => `${h.version} ${h.startedAt}`)).toEqual([
    ...history.map((h) => `${h.version} ${h.startedAt}`),
    `1.35.9 ${timestamp(NOW + 1_000)}`,
  ])
})

describe('a lost quorum', () => {
  const since = timestamp(NOW - 10 * 60_000)
  const kept = { name: 'scheduled-1', takenAt: SINCE, version: '1.35.9', bytes: 1, objects: 1 }
  const lost = (more: Partial<ControlPlane> = {}, spec: object = {}, status: object = {}): Seen => {
    const plane = { state: 'Starting', version: '1.35.9', quorumLost: { since, serving: 1, members: 3 } } as const
    const seen = seenOf({ ...plane, message: 'pod etcd-2 has no node', snapshots: [kept], ...more }, '1.35.9')
    const { cluster } = seen
    const controlPlane = { ...cluster.spec.controlPlane, ...spec }
    const history = [{ version: '1.35.9', startedAt: SINCE }]
    return {
      ...seen,
      cluster: {
        ...cluster,
        spec: { ...cluster.spec, controlPlane },
        status: { ...cluster.status, history, ...status },
      } as unknown as Cluster,
    }
  }
  const kindsOf = (seen: Seen, now = NOW) => plan(seen, now).actions.map((a) => a.kind)

  test('is counted for the alert, and a Cluster that is Ready is not', async () => {
    const seen = lost()
    const { cluster } = seen
    const status = statusOf(seen, plan(seen, NOW), [], NOW)
    const { registry } = createMetrics()
    const figures = clusterFigures(registry, () => [{ ...cluster, status }, cluster])
    await figures.start(new AbortController().signal)
    expect(await registry.metrics()).toContain('kubenode_control_planes_without_quorum 1')
  })

  test('is named with what is missing and what a restore would lose, and nothing is restored', () => {
    const { phase, wait } = plan(lost(), NOW)
    expect([phase, wait]).toEqual([
      'Failed',
      {
        predicate: 'QuorumLost',
        seen: `1 of 3 members of etcd serve since ${since}; pod etcd-2 has no node`,
        unblock: `the members come back with their volumes; or a commit sets controlPlane.restore: {snapshot: scheduled-1, attempt: 1}, which loses all writes since ${SINCE}`,
      },
    ])
    expect(kindsOf(lost())).toEqual(['Put'])
    // The attempt number of a finished restore would restore nothing.
    expect(plan(lost({ restored: 'scheduled-1/4' }), NOW).wait?.unblock).toContain('attempt: 5}')
    expect(plan(lost({ snapshots: [] }), NOW).wait?.unblock).toContain('no snapshot of this version was opened')
  })

  test('a commit restores it with a permit, once, although it does not run', () => {
    const declared = { restore: { snapshot: 'scheduled-1', attempt: 1 } }
    expect(kindsOf(lost({}, declared))).toEqual(['RequestPermit'])
    expect(next(lost({}, declared), false).actions.map((a) => a.kind)).toContain('Restore')
    expect(kindsOf(lost({ restored: 'scheduled-1/1' }, declared))).toEqual(['Put'])
  })

  test.each<[string, Seen, number]>([
    ['before ten minutes', lost(), NOW - 1],
    ['after the clock was set back', lost(), NOW - 9_999_999],
    ['of one that never ran', lost({}, {}, { history: [] }), NOW],
    ['of one that is being restored', lost({ restoring: 'scheduled-1', quorumLost: undefined } as object), NOW],
  ])('is not named %s', (_, seen, now) => {
    expect(plan(seen, now).wait?.predicate).not.toBe('QuorumLost')
    expect(kindsOf(seen, now)).toEqual(['Put'])
  })
})

test('a control plane that answers without one of its parts is Ready, and says what is missing', () => {
  const seen = seenOf({ version: '1.35.9', message: 'etcd is not ready: pod etcd-2 has no node' }, '1.35.9')
  const status = statusOf(seen, plan(seen, NOW), [], NOW)
  expect(status.conditions?.find((c) => c.type === 'Ready')).toMatchObject({
    status: 'True',
    message: 'the host serves the API server; etcd is not ready: pod etcd-2 has no node',
  })
  expect(status.waitingFor).toMatchObject({
    predicate: 'WaitingForOther',
    seen: 'etcd is not ready: pod etcd-2 has no node',
  })
})

test.each<[string, Partial<ControlPlane>]>([
  ['in the middle of the last steps', { version: '1.36.2', change: OVER }],
  [
    'when all is done',
    {
      version: '1.36.2',
      snapshots: [{ name: 'edge-1', takenAt: SINCE, version: '1.35.9', bytes: 1, objects: 1 }],
    },
  ],
])('a return over the one-way step waits for an approval that names the loss, %s', (_, plane) => {
  const seen = seenOf(plane, '1.35.9')
  const waits = next(seen, false)
  expect(waits.reason).toBe(`restore edge-1 to go back to 1.35.9; writes since ${SINCE} are lost`)
  expect([waits.wait?.predicate, approvedIn(waits)]).toEqual(['ApprovalMissing', []])
  expect(approvedIn(next(seen, true))).toEqual(['edge-1'])
})

test.each([true, false])(
  'a restore that has begun is continued, with an approval that still counts: %s',
  (isApproved) => {
    const begun = { version: '1.35.9', state: 'Starting', change: OVER } as const
    expect(approvedIn(next(seenOf(begun, '1.35.9'), isApproved))).toEqual(['edge-1'])
  },
)

test('before the one-way step nothing is restored, and no approval is requested', () => {
  const soaks = { version: '1.35.9', change: { ...OVER, wayBack: 'Programs' } } as const
  const back = next(seenOf(soaks, '1.35.9'), false)
  expect([back.phase, approvedIn(back)]).toEqual(['RollingBack', ['none']])
})

test('a version that is asked for during a restore waits until the restore ends', () => {
  const { actions, phase, wait } = plan(
    seenOf({ version: '1.35.9', state: 'Starting', restoring: 'mine' }, '1.36.2'),
    NOW,
  )
  expect([phase, wait?.predicate]).toEqual(['Restoring', 'RestoreUnderWay'])
  expect(actions).toMatchObject([{ kind: 'Put', request: { version: '1.35.9' } }])
})

test('a snapshot is in the status of the pass that took it', () => {
  const seen = seenOf({}, '1.36.0')
  const taken = { name: 'mine', takenAt: SINCE, version: '1.36.0', bytes: 9, objects: 3 }
  const action = { kind: 'Snapshot' as const, reason: 'it was asked for', name: 'mine' }
  const quiet = { actions: [action], notices: [], phase: 'Ready' as const, wait: undefined }
  const after = (object: unknown) => statusOf(seen, quiet, [{ action, outcome: { kind: 'Applied', object } }], NOW)
  expect(after(taken).snapshots).toEqual([taken])
  expect(after('Gone').snapshots).toEqual([])
  const again = { ...seen, plane: { ...runningPlane('fleet.one'), snapshots: [taken] } }
  expect(statusOf(again, quiet, [{ action, outcome: { kind: 'Applied', object: taken } }], NOW).snapshots).toEqual([
    taken,
  ])
})
