// How long a drain leaves pods that ask for time: by what was saved, by their gang, and never longer than the policy allows.
import { describe, expect, test } from 'vitest'
import { defined } from '#lib/defined.ts'
import { seededRandom } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { ApiError } from '#kube/errors.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { CLEARANCE } from '#test/support/permits/clearance.ts'
import { drainPass, drainPlan } from './drain.ts'
import { withJobWishes } from './job-wishes.ts'
import { type Pod, podType } from './objects.ts'
import { type PodWaits, podWaitText, podWaits } from './pod-waits.ts'

const SINCE = Date.parse('2026-05-05T02:00:00Z')
const MINUTE_MS = 60_000
const JOB = 'batch.kubernetes.io/job-name'
const at = (minutes: number): string => new Date(SINCE + minutes * MINUTE_MS).toISOString()

interface Wish {
  readonly wait?: string
  readonly saved?: number
  readonly gang?: string
  readonly node?: string
}

const pod = (name: string, { wait, saved, gang, node = 'n' }: Wish = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: 'ml',
    uid: name,
    ...(gang !== undefined && { labels: { [JOB]: gang } }),
    annotations: defined({
      'kubenode.io/drain-wait': wait,
      'kubenode.io/checkpointed-at': saved === undefined ? undefined : at(saved),
    }),
  },
  spec: { nodeName: node, terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }] },
  status: { phase: 'Running' },
})

const waits = (minutes: number, mostMinutes = 30): PodWaits => ({
  since: SINCE,
  now: SINCE + minutes * MINUTE_MS,
  mostMs: mostMinutes * MINUTE_MS,
})
const left = (pods: readonly Pod[], given: PodWaits | undefined) =>
  podWaits(pods, given).map((w) => [w.pods.map((p) => p.metadata.name).join(' '), w.leftMs / MINUTE_MS])

describe('a drain leaves', () => {
  test.each<[string, readonly Pod[], PodWaits | undefined, readonly unknown[]]>([
    ['no pod that does not ask', [pod('a')], waits(0), []],
    ['a pod for as long as it asks', [pod('a', { wait: '20m' })], waits(5), [['a', 15]]],
    ['it no longer than the policy allows', [pod('a', { wait: '20m' })], waits(5, 10), [['a', 5]]],
    ['none where the policy allows none', [pod('a', { wait: '20m' })], waits(5, 0), []],
    ['none where nothing is waited for', [pod('a', { wait: '20m' })], undefined, []],
    ['none whose time is over', [pod('a', { wait: '20m' })], waits(20), []],
    ['one whose time cannot be read, for the longest', [pod('a', { wait: 'soon' })], waits(5, 10), [['a', 5]]],
    ['one that saved its work before the drain', [pod('a', { wait: '20m', saved: -1 })], waits(5), [['a', 15]]],
    ['none that saved it since', [pod('a', { wait: '20m', saved: 3 })], waits(5), []],
    [
      'all of a gang for the longest that one of them asks',
      [pod('a', { wait: '5m', gang: 'g' }), pod('b', { gang: 'g' }), pod('c', { wait: '15m', gang: 'g' }), pod('d')],
      waits(6),
      [['a b c', 9]],
    ],
    [
      'none of a gang of which one saved the work',
      [pod('a', { wait: '20m', gang: 'g' }), pod('b', { gang: 'g', saved: 1 })],
      waits(6),
      [],
    ],
    [
      'each gang by itself',
      [pod('a', { wait: '20m', gang: 'g', saved: 1 }), pod('b', { wait: '20m', gang: 'h' })],
      waits(6),
      [['b', 14]],
    ],
  ])('%s', (_, pods, given, expected) => {
    expect(left(pods, given)).toEqual(expected)
  })
})

test('what it waits for is said with the time that is left', () => {
  const [wait] = podWaits([pod('a', { wait: '20m', gang: 'train-1' }), pod('b', { gang: 'train-1' })], waits(12))
  expect(wait && podWaitText(wait)).toBe('waiting for the next checkpoint of ml/train-1 (2 pods here), at most 8m more')
})

test('the other pods go at once, and finished ones count for nothing', () => {
  const done = { ...pod('done', { wait: '20m' }), status: { phase: 'Succeeded' } } as Pod
  const plan = drainPlan([pod('a', { wait: '20m' }), pod('b'), done], { waits: waits(1) })
  expect([plan.evict, plan.waiting.flatMap((w) => w.pods)].map((all) => all.map((p) => p.metadata.name))).toEqual([
    ['b'],
    ['a'],
  ])
})

describe('a gang with pods on two nodes', () => {
  const world = (saved: number | undefined) => {
    const fake = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1) })
    const pods = [pod('a', { wait: '20m', gang: 'g' }), pod('b', { gang: 'g', node: 'other', ...defined({ saved }) })]
    for (const p of pods) fake.plant(podType, p)
    return drainPass(CLEARANCE, fake.client({ actor: 'c' }), 'n', undefined, { waits: waits(5) })
  }

  test('is waited for, and the drain says so', async () => {
    expect(await world(undefined)).toEqual({
      kind: 'Draining',
      left: 1,
      first: 'ml/a',
      waiting: 'waiting for the next checkpoint of ml/g (1 pod here), at most 15m more',
    })
  })

  test('has saved its work once the pod on the other node says so', async () => {
    expect(await world(3)).not.toHaveProperty('waiting')
  })
})

describe('a Job asks for the time of its pods', () => {
  const jobType = coreKind('Job')
  const ofJob = (one: Pod, job: string, uid = job): Pod => ({
    ...one,
    metadata: {
      ...one.metadata,
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: job, uid, controller: true }],
    },
  })
  async function drained(one: Pod, annotations: Record<string, string> | undefined, isOther = false) {
    const fake = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1) })
    const job = {
      apiVersion: 'batch/v1' as const,
      kind: 'Job' as const,
      metadata: { name: 'job', namespace: 'ml', annotations: annotations ?? {} },
      spec: { template: { spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' } } },
    }
    const uid = annotations === undefined ? 'gone' : fake.plant(jobType, job).metadata.uid
    fake.plant(podType, ofJob(one, 'job', isOther ? 'other' : uid))
    const drain = await drainPass(CLEARANCE, fake.client({ actor: 'c' }), 'n', undefined, { waits: waits(5) })
    return drain.kind === 'Draining' ? drain.waiting : drain.kind
  }
  const WAIT = 'kubenode.io/drain-wait'
  const most = (minutes: number) => `waiting for the next checkpoint of ml/a (1 pod here), at most ${minutes}m more`

  test.each<[string, Pod, Record<string, string> | undefined, string | undefined]>([
    ['and is given it', pod('a'), { [WAIT]: '20m' }, most(15)],
    ['and no longer than the policy allows', pod('a'), { [WAIT]: '9h' }, most(25)],
    ['unless the pod names another', pod('a', { wait: '10m' }), { [WAIT]: '20m' }, most(5)],
    ['until it was saved', pod('a'), { [WAIT]: '20m', 'kubenode.io/checkpointed-at': at(2) }, undefined],
    [
      'also where the pod has an older checkpoint',
      pod('a', { saved: -9 }),
      { [WAIT]: '20m', 'kubenode.io/checkpointed-at': at(2) },
      undefined,
    ],
    ['not where it has no wish', pod('a'), {}, undefined],
    ['not where it was deleted', pod('a'), undefined, undefined],
  ])('%s', async (_, one, annotations, expected) => {
    expect(await drained(one, annotations)).toBe(expected)
  })

  test('and another Job of the same name asks for nothing', async () => {
    expect(await drained(pod('a'), { [WAIT]: '20m' }, true)).toBeUndefined()
  })

  test('is unknown where it cannot be read: its pods wait for as long as the policy allows', async () => {
    const client = {
      get: () =>
        Promise.reject(new ApiError({ code: 503, message: 'no answer' } as never, { action: 'get', target: 'job' })),
    } as unknown as KubeClient
    const [read] = await withJobWishes(client, [ofJob(pod('a'), 'job')], true)
    expect(left(read === undefined ? [] : [read], waits(5))).toEqual([['a', 25]])
  })

  test('beyond the bound of a pass, pods are left for the next', async () => {
    const many = Array.from({ length: 20 }, (_, i) => ofJob(pod(`p-${i}`), `job-${i}`))
    const client = { get: () => Promise.resolve(undefined) } as unknown as KubeClient
    expect(drainPlan(await withJobWishes(client, many, true), { waits: waits(5) })).toMatchObject({
      evict: { length: 16 },
      waiting: { length: 4 },
    })
  })
})
