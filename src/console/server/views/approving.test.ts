// What a person reads before they approve a permit, a release, deletions or a commit.
import { expect, test } from 'vitest'
import type { Approval } from '#api/kinds/approval.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import { askersOfRelease } from '#explain/approvers.ts'
import { requestsOf } from '#explain/approval-requests.ts'
import type { Approved } from '#explain/approvers-asked.ts'
import { RISK_ASKS } from '#sync/release/risk.ts'
import { targetsDigest } from '#sync/release/tracks.ts'
import { problemsAs } from '#test/support/console/messages.ts'
import { permitAskers } from '../approving-answer.ts'
import type { MachineRow } from '../machine-row.ts'
import { type Approving, approvingAnswer } from './approving.ts'

const NOW = Date.parse('2026-02-01T12:00:00Z')
const HOUR = 3_600_000

const approvalBy = (by: string, digest: string, more: object = {}, created = '2026-02-01T11:00:00Z') =>
  ({
    metadata: { name: `a-${by}`, creationTimestamp: created },
    spec: { digest, by, until: '2026-02-01T13:00:00Z', ...more },
  }) as unknown as Approval

function answered(object: Approved, more: Partial<Approving>) {
  const [request] = requestsOf(object)
  if (request === undefined) throw new Error('nothing is requested')
  const answer = approvingAnswer({
    object,
    request,
    approvals: [],
    askers: [],
    person: { name: 'ada', groups: ['sre'] },
    releases: [],
    pipeline: undefined,
    clusters: [],
    machine: () => undefined,
    now: NOW,
    ...more,
  })
  expect(problemsAs('ApprovingAnswer', JSON.parse(JSON.stringify(answer)))).toEqual([])
  return answer
}

const permit = {
  kind: 'OperationPermit',
  metadata: { name: 'repair-n-1' },
  spec: {
    operations: ['Drain', 'Replace'],
    targets: [
      { kind: 'Machine', name: 'n-1', uid: 'u-1' },
      { kind: 'Machine', name: 'n-2', uid: 'u-2' },
    ],
    requester: { manager: 'hostdoctor', kind: 'RemedyOperationJob', name: 'disk-n-1', part: 'disk' },
    reason: 'disk\u202e failed',
    recovery: false,
    leaseSeconds: 120,
  },
  status: {
    phase: 'Requested',
    gates: [
      { target: 'u-1', gate: 'Approval', policy: 'careful', verdict: 'Waiting', limit: '2 of group:sre' },
      { target: 'u-1', gate: 'Window', policy: 'nights', verdict: 'Waiting', seen: 'closed' },
      { target: 'u-2', gate: 'Window', policy: 'nights', verdict: 'Waiting', seen: 'closed' },
      {
        target: 'u-1',
        gate: 'Approval',
        policy: 'careful',
        verdict: 'Waiting',
        limit: '1 of any user who may approve',
      },
    ],
  },
} as unknown as OperationPermit & { readonly kind: 'OperationPermit' }

const policies = [
  {
    metadata: { name: 'careful' },
    spec: {
      approvals: [
        { risk: 'High', from: ['group:sre'], count: 2 },
        { risk: 'Low', from: ['eve'], count: 1 },
      ],
    },
  },
] as unknown as readonly DefenderPolicy[]

const row = (uid: string, isReady: boolean) =>
  ({
    metadata: { name: 'n', uid },
    place: { zone: 'a', rack: '', pool: 'workers' },
    state: { isReady },
  }) as unknown as MachineRow

test('a permit: which machines, the risk of each operation, who approved, who is missing, what it waits for besides', () => {
  const [{ digest } = { digest: '' }] = requestsOf(permit)
  const approvals = [
    approvalBy('bob', digest, { groups: ['sre'], reason: 'agreed\u202e' }),
    approvalBy('carl', digest, {}, '2026-02-01T10:00:00Z'),
    approvalBy('old', digest, { groups: ['sre'], until: '2026-02-01T11:59:00Z' }, '2026-02-01T09:00:00Z'),
    approvalBy('other', 'f'.repeat(64), { groups: ['sre'] }),
  ]
  const machines = new Map([
    ['n-1', row('u-1', false)],
    ['n-2', row('u-9', true)],
  ])
  const answer = answered(permit, {
    approvals,
    askers: permitAskers(permit, policies),
    machine: (name) => machines.get(name),
  })
  expect(answer).toMatchObject({
    effects: [
      {
        text: 'Drain, replace on 2 machines',
        on: ['n-1, zone a, pool workers, not Ready', 'n-2: replaced since; the permit is for an earlier machine'],
      },
      { text: 'Requested by job disk-n-1, disk: disk\ufffd failed' },
    ],
    waits: ['Window: closed (policy nights)'],
    risk: {
      level: 'High',
      why: ['Drain: medium risk, the machine may stop serving meanwhile', 'Replace: high risk, deletes the machine'],
    },
    given: [
      { by: 'old', state: 'Expired' },
      { by: 'carl', state: 'Counts' },
      { by: 'bob', state: 'Counts', reason: 'agreed\ufffd', until: NOW + HOUR },
    ],
    asks: [
      { name: 'policy careful', from: 'group sre', needed: 2, missing: 1, isYours: true },
      { name: 'policy careful', from: 'eve', needed: 1, missing: 1, isYours: false },
      { name: 'the loss of data on the machine', from: 'any user who may approve', needed: 1, missing: 0 },
    ],
  })
})

const pipeline = {
  metadata: { name: 'p' },
  spec: {
    stages: [
      {
        name: 'prod',
        maxConcurrency: 1,
        minSuccessTime: '15m',
        before: [{ name: 'board', approval: { from: ['group:board'], count: 2 }, timeout: '48h' }],
      },
    ],
  },
} as unknown as ReleasePipeline

const releaseWith = (gates: readonly object[]) =>
  ({
    kind: 'Release',
    metadata: { name: 'fleet-2', namespace: 'kn', creationTimestamp: '2026-02-01T09:00:00Z' },
    spec: {
      source: 'fleet',
      track: 'fleet',
      pipeline: 'p',
      commit: 'c0ffee'.padEnd(40, '0'),
      digests: { test: 'a', 'prod-1': 'b', 'prod-2': 'same', 'prod-3': 'd' },
      previous: 'fleet-1',
    },
    status: {
      phase: 'Progressing',
      stages: [
        { name: 'test', phase: 'Succeeded' },
        { name: 'prod', phase: 'Waiting', gates },
      ],
      clusters: [
        { name: 'test', stage: 'test', phase: 'Healthy', failures: { before: 0, new: 1 } },
        { name: 'prod-1', stage: 'prod', phase: 'Waiting' },
        { name: 'prod-2', stage: 'prod', phase: 'Waiting' },
        { name: 'prod-3', stage: 'prod', phase: 'Waiting' },
      ],
    },
  }) as unknown as Release & { readonly kind: 'Release' }

const before = {
  metadata: { name: 'fleet-1', namespace: 'kn', creationTimestamp: '2026-02-01T08:00:00Z' },
  spec: {
    source: 'fleet',
    track: 'fleet',
    digests: { test: 'x', 'prod-1': 'x', 'prod-2': 'same', 'prod-3': 'x' },
  },
} as unknown as Release

const cluster = (name: string, total: number) =>
  ({ metadata: { name }, status: { machines: { total } } }) as unknown as Cluster

const waiting = (name: string, seen: string) => ({
  when: 'Before',
  name,
  phase: 'Waiting',
  since: '2026-02-01T12:00:00Z',
  seen,
})

test('a release: clusters that change in each stage to come with their machines, until when its gate waits, and no rating that nobody made', () => {
  const release = releaseWith([
    waiting('board', 'approved by 1 of 2 (group board)'),
    waiting('ready', '3 of 5 machines are Ready, 98% are needed'),
  ])
  const [{ digest } = { digest: '' }] = requestsOf(release)
  const answer = answered(release, {
    // The first is of the time before other content was rolled out: it does not count again.
    approvals: [
      approvalBy('early', digest, { groups: ['board'] }, '2026-02-01T07:30:00Z'),
      approvalBy('bob', digest, { groups: ['board'] }),
    ],
    askers: askersOfRelease(release, pipeline),
    releases: [before, release],
    clusters: [cluster('prod-1', 1_200)],
    pipeline,
  })
  expect(answer).toMatchObject({
    commit: 'c0ffee'.padEnd(40, '0'),
    effects: [
      { text: 'Commit c0ffee000000 of track fleet' },
      {
        text: 'Stage prod (Waiting): 2 clusters to change, 1 at a time, then 15m of soak',
        on: ['prod-1, 1200 machines, Waiting', 'prod-3, number of machines unknown, Waiting'],
      },
    ],
    waits: ['gate ready of stage prod: 3 of 5 machines are Ready, 98% are needed'],
    given: [{ by: 'bob', state: 'Counts' }],
    asks: [
      {
        name: 'gate board of stage prod',
        needed: 2,
        missing: 1,
        from: 'group board',
        isYours: false,
        until: NOW + 48 * HOUR,
      },
    ],
  })
  expect(answer.risk).toEqual({
    why: [
      'sync reported no change of a control plane and no deletion of a cluster; the rest is not rated',
      '1 new failure in cluster test',
    ],
  })
})

test('a release that deletes more than its guard allows says so before anything is approved', () => {
  const release = releaseWith([waiting('board', 'approved by 1 of 2 (group board)')])
  const [first] = release.status?.clusters ?? []
  const prune = { count: 9, allowed: 2, first: 'machine/prod/n-9', machines: 1, digest: 'f'.repeat(64) }
  const deleting = { ...release, status: { ...release.status, clusters: [{ ...first, prune }] } } as typeof release
  const request = { ...requestsOf(deleting)[0], digest: targetsDigest(deleting) } as Approving['request']
  const { effects } = answered(deleting, { request, releases: [before, deleting], pipeline })
  expect(effects.map(({ text }) => text)).toContainEqual(
    expect.stringContaining('test: deletes 1 machine and 9 objects (limit 2), the first is machine/prod/n-9'),
  )
})

test('a release with a high-risk change: what sync reported of it, and any user may approve', () => {
  const seen = 'cluster prod-1 from 1.35.1 to 1.36.0: approved by 0 of 1 (group system:authenticated)'
  const release = releaseWith([waiting('high-risk', seen)])
  const name = 'gate high-risk of stage prod'
  const answer = answered(release, { askers: [{ name, asks: RISK_ASKS }], pipeline, releases: [before, release] })
  expect(answer.risk).toMatchObject({
    level: 'High',
    why: ['cluster prod-1 from 1.35.1 to 1.36.0', '1 new failure in cluster test'],
  })
  expect(answer.asks).toEqual([
    {
      name,
      from: 'any user who may approve',
      needed: 1,
      missing: 1,
      isYours: true,
      until: NOW + 168 * HOUR,
    },
  ])
})

test('what the reader may not list is unknown, not zero', () => {
  const answer = answered(permit, { approvals: undefined, askers: 'you may not read the policies' })
  expect(answer).not.toHaveProperty('given')
  expect(answer.asks).toEqual([{ name: 'who has to approve', unknown: 'you may not read the policies' }])
  const asks = permitAskers(permit, policies)
  expect(answered(permit, { approvals: undefined, askers: asks }).asks[0]).not.toHaveProperty('missing')
})
