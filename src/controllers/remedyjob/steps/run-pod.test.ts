// A step of a repair that runs a pod: one pod for each attempt, and only a pod that ended undisturbed has a result.
import { ACCEPTANCE_NAMESPACE, ANNOTATIONS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { seededRandom } from '#lib/random.ts'
import { podTemplateType } from '#nodes/acceptance-pod.ts'
import { type Pod, podType } from '#nodes/objects.ts'
import type { Clearance } from '#permits/under-permit.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { repairSpec } from '#test/support/fleets/repair-jobs.ts'
import { expect, test } from 'vitest'
import type { StepResult } from '../actions.ts'
import type { JobStep, Seen } from '../seen.ts'
import { runPod } from './run-pod.ts'

const BEGUN = { index: 1, operation: 'runPod', executor: 'Controller', attempts: 1 } as const

function world({ hasTemplate = true } = {}) {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(1) })
  if (hasTemplate)
    fake.plant(podTemplateType, {
      apiVersion: 'v1',
      kind: 'PodTemplate',
      metadata: { name: 'burn-in', namespace: ACCEPTANCE_NAMESPACE },
      template: { spec: { containers: [{ name: 'test', image: 'burn-in' }] } },
    })
  const client = fake.client({ actor: 'controllers' })
  const job = {
    metadata: { name: 'j', uid: 'j-uid' },
    spec: repairSpec([{ cordon: {} }, { runPod: { template: 'burn-in' } }], {
      node: { name: 'n', uid: 'n-uid' },
      timeout: '10m',
    }),
    status: { startedAt: timestamp(clock.now() - 60_000) },
  }
  const pass = async (step: JobStep): Promise<StepResult> => {
    const seen = { job } as unknown as Seen
    const signal = new AbortController().signal
    const went = await runPod({} as Clearance, { client, clock }, { template: 'burn-in' }, { step, seen }, signal)
    return went.kind === 'Applied' ? (went.object as StepResult) : { output: went.kind }
  }
  const pods = () => fake.all(podType) as readonly Pod[]
  const status = (change: object) => {
    const { namespace = '', name = '' } = pods()[0]?.metadata ?? {}
    fake.poke(podType, { namespace, name }, { status: change }, 'status')
  }
  return { fake, client, pass, pods, status }
}

const keyOf = (pod: Pod | undefined) => ({ namespace: ACCEPTANCE_NAMESPACE, name: pod?.metadata.name ?? '' })
const exited = (exitCode: number) => ({
  phase: exitCode === 0 ? 'Succeeded' : 'Failed',
  containerStatuses: [{ name: 'test', state: { terminated: { exitCode } } }],
})

test('the pod is created once, for the rest of the time of the job, and its success ends the step', async () => {
  const { pass, pods, status } = world()
  const created = await pass(BEGUN)
  expect(created.outcome).toBeUndefined()
  expect(pods()[0]).toMatchObject({
    metadata: { annotations: { [ANNOTATIONS.acceptanceNode]: 'n-uid' }, ownerReferences: [{ uid: 'j-uid' }] },
    spec: { nodeName: 'n', activeDeadlineSeconds: 540, restartPolicy: 'Never' },
  })
  // Also by a controller that did not record what it created.
  const found = await pass(BEGUN)
  expect([found.keeps?.pod?.uid, pods().length]).toEqual([pods()[0]?.metadata.uid, 1])
  status(exited(0))
  expect(await pass({ ...BEGUN, ...created.keeps })).toMatchObject({ outcome: 'Succeeded' })
})

test('the next attempt has a pod of its own', async () => {
  const { pass, pods, status } = world()
  const { keeps } = await pass(BEGUN)
  status(exited(2))
  expect(await pass({ ...BEGUN, ...keeps })).toMatchObject({ outcome: 'Failed', output: 'test: exit code 2' })
  await pass({ ...BEGUN, attempts: 2 })
  expect(new Set(pods().map((p) => p.metadata.name)).size).toBe(2)
})

test('a pod that was deleted, evicted or replaced has no result', async () => {
  const { client, pass, pods, status } = world()
  const { keeps } = await pass(BEGUN)
  status({ phase: 'Failed', reason: 'Evicted' })
  expect(await pass({ ...BEGUN, ...keeps })).toMatchObject({ outcome: 'Failed', output: 'no result: Evicted' })
  await client.delete(podType, keyOf(pods()[0]), { gracePeriodSeconds: 0 })
  const gone = await pass({ ...BEGUN, ...keeps })
  expect([gone.outcome, gone.output]).toEqual(['Failed', `no result: pod ${keeps?.pod?.name} was deleted`])
  await pass(BEGUN)
  status(exited(0))
  expect((await pass({ ...BEGUN, ...keeps })).outcome).toBe('Failed')
})

test('a step whose template does not exist fails and says so', async () => {
  const { pass, pods } = world({ hasTemplate: false })
  expect(await pass(BEGUN)).toEqual({
    outcome: 'Failed',
    output: 'PodTemplate burn-in not found in namespace kubenode-acceptance',
  })
  expect(pods()).toEqual([])
})
