// The text about repairs that a user reads at three in the morning.
import { expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { timestamp } from '#lib/clock.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { recentRepairs, repairStory } from '#explain/repair-story.ts'
import { traceLines } from '#explain/trace.ts'
import { linesOf } from '#explain/finding.ts'
import { whyLines } from '#explain/why.ts'

const NOW = Date.parse('2026-05-01T12:00:00Z')
const ago = (seconds: number) => timestamp(NOW - seconds * 1_000)

const job = (name: string, status: object, spec: object = {}): RemedyOperationJob =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'RemedyOperationJob',
    metadata: { name, creationTimestamp: ago(100) },
    spec: {
      node: { name: 'n', uid: 'u' },
      remedierRef: { name: 'deadlock', generation: 1 },
      rung: 1,
      attempt: 2,
      commit: 'abcdef0123456789',
      operations: [{ collectEvidence: {} }, { cordon: {} }, { reboot: {} }],
      ...spec,
    },
    status: { permitRef: name, ...status },
  }) as unknown as RemedyOperationJob

const done = (name: string, seconds: number) =>
  job(name, { phase: 'Done', outcome: 'Escalated', message: 'the fault is still present', finishedAt: ago(seconds) })

const made = {
  spec: { commit: 'abcdef0123456789', subject: 'beacon 1.1.0', author: 'Ada' },
} as unknown as Release

test('a repair tells its rule, its permit, each step with its end, and what is still to come', () => {
  const told = job('j', {
    phase: 'Running',
    startedAt: ago(90),
    steps: [
      {
        index: 0,
        executor: 'Agent',
        outcome: 'Skipped',
        startedAt: ago(90),
        finishedAt: ago(30),
        output: 'a\nkept nothing',
      },
      { index: 1, executor: 'Controller', startedAt: ago(5) },
    ],
  })
  expect(repairStory(told, { now: NOW, releases: [made] }).flatMap(linesOf)).toEqual([
    'Repairs node/n by rule deadlock, rung 1, attempt 2: Running',
    '  requested 1m40s ago, commit abcdef012345 "beacon 1.1.0" by Ada; permit/j',
    '  step 0 collectEvidence by Agent: Skipped in 1m: kept nothing',
    '  step 1 cordon by Controller: running',
    '  step 2 reboot: not started',
  ])
})

test('a repair names the rungs that were skipped on its node, and why', () => {
  const skipped = ['rung 0 (rescue): machine m has no rescue key (spec.ssh.rescue)']
  expect(repairStory(job('j', { phase: 'Running' }, { skipped }), { now: NOW }).flatMap(linesOf)[0]).toBe(
    'Repairs node/n by rule deadlock, rung 1, attempt 2 (skipped rung 0 (rescue): machine m has no rescue key (spec.ssh.rescue)): Running',
  )
})

test('one that is over says what came of it; those of the last day are shown with their node, the newest first', () => {
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n' },
    status: {
      conditions: [
        { type: 'Ready', status: 'True', reason: 'x', message: '' },
        { type: 'DiskPressure', status: 'False', reason: 'x', message: '' },
        {
          type: 'KernelDeadlock',
          status: 'True',
          reason: 'DockerHung',
          message: 'task hangs',
          lastTransitionTime: ago(60),
        },
      ],
    },
  } as KubeObject
  const recent = recentRepairs(
    [done('old', 90_000), done('a', 300), done('b', 30), job('c', { phase: 'Running' })],
    NOW,
  )
  const related = recent.map((object) => ({ label: 'It was repaired by', object }))
  expect(whyLines(node, NOW, { related })).toEqual([
    'node/n',
    'KernelDeadlock is True for 1m: DockerHung: task hangs',
    '  to see what blocks its repair: kubenode why-not node/n',
    'It was repaired by job/b (Done)',
    '  rule deadlock, rung 1, attempt 2: Escalated 30s ago: the fault is still present',
    'It was repaired by job/a (Done)',
    '  rule deadlock, rung 1, attempt 2: Escalated 5m ago: the fault is still present',
  ])
})

test('a rollout that stopped says once why, and on which machines', () => {
  const condition = (type: string, status: string) => ({
    type,
    status,
    reason: 'RevisionFailed',
    message: 'm',
    lastTransitionTime: ago(60),
  })
  const set = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MachineComponentSet',
    metadata: { name: 's' },
    status: {
      phase: 'Blocked',
      conditions: [condition('Ready', 'False'), condition('Stalled', 'True')],
      slices: [{ component: 'c', version: '2', step: 0, number: 0, phase: 'Failed', failed: 1, machines: ['a', 'b'] }],
    },
  } as unknown as KubeObject
  expect(whyLines(set, NOW)).toEqual([
    'set/s is Blocked',
    'Ready is False for 1m: RevisionFailed: m',
    '  The revision failed before and is blocked. See docs/operations/runbooks/rollout.md.',
    '  unblocks when: a commit corrects or reverts the version',
    'Stalled is True for 1m: RevisionFailed',
    'c 2 step 1 slice 1 failed on 1 of 2 machines: a, b',
  ])
})

test('a permit whose results are in holds nothing up', () => {
  const conditions = [{ type: 'PermitGranted', status: 'False', reason: 'AsDeclared', message: 'all results are in' }]
  const permit = { kind: 'OperationPermit', metadata: { name: 'p' }, status: { phase: 'Released', conditions } }
  expect(whyLines(permit as unknown as KubeObject, NOW)).toEqual([
    'permit/p is Released',
    'Up to date; nothing pending.',
  ])
})

test('the commit of a repair is the one that its rule came from', () =>
  expect(traceLines(done('j', 1))).toContain('commit abcdef0123456789 (git show abcdef012345)'))

test('a step that is being done says since when, and what it came to so far', () => {
  const steps = [
    { index: 0, operation: 'cordon', executor: 'Controller', outcome: 'Succeeded' },
    { index: 1, operation: 'drain', executor: 'Controller', startedAt: ago(60), output: 'kept: default/x' },
  ]
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } }
  const object = job('c', { phase: 'Running', steps })
  expect(whyLines(node, NOW, { related: [{ label: 'Being repaired by', object }] })).toContain(
    '  Step 1 drain by Controller: running for 1m: kept: default/x',
  )
})

test('the commit of an object is called by its title where a Release of it is known', () => {
  const object = job('j', {}) as KubeObject
  expect(traceLines(object).slice(1)).toEqual(['commit abcdef0123456789 (git show abcdef012345)'])
  expect(traceLines(object, [made]).slice(1, 3)).toEqual([
    'commit abcdef0123456789 (git show abcdef012345)',
    '  abcdef012345 "beacon 1.1.0" by Ada',
  ])
})
