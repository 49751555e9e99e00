import { repairSpec } from '#test/support/fleets/repair-jobs.ts'
import { aMachine } from '#test/support/fleets/defender-objects.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { seededRandom } from '#lib/random.ts'
import { BY_LISTED, type JobCaches } from '../inputs/caches.ts'
import { wakeUp } from '../inputs/triggers.ts'
import { RequestGate } from '../permits/request-gate.ts'
import { applyList } from './job-list.ts'
import { unlistGone } from './unlist-gone.ts'

const signal = new AbortController().signal
const job = (name: string) =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'RemedyOperationJob',
    metadata: { name },
    spec: repairSpec([{ cordon: {} }], { machine: 'm' }),
    status: { phase: 'Running' },
  }) as unknown as RemedyOperationJob

async function listAfter(name: string, stored: readonly string[], cached: readonly string[]) {
  const kinds = KINDS.map((type) => ({ type, schema: type.schema, status: type.definition.status !== undefined }))
  const fake = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1), kinds })
  for (const each of stored) fake.plant(remedyOperationJob, job(each))
  const client = fake.client({ actor: 'controllers' })
  fake.plant(machineType, aMachine({ name: 'm' }))
  const planted = await client.get(machineType, { name: 'm' })
  if (planted === undefined) throw new Error('no machine')
  await applyList(client, planted, ['gone', 'here'], signal)
  const machine = await client.get(machineType, { name: 'm' })
  const caches = {
    jobs: { byIndex: () => cached.map(job) },
    machines: {
      byIndex: (index: string, key: string) =>
        index === BY_LISTED && machine?.spec.jobs?.includes(key) === true ? [machine] : [],
    },
  } as unknown as JobCaches
  const outcome = await unlistGone(client, caches, name, signal)
  return [outcome?.kind, (await client.get(machineType, { name: 'm' }))?.spec.jobs]
}

test.each([
  [
    'a job that was deleted with its finalizer leaves the list, and the others stay',
    'gone',
    ['here'],
    ['Applied', ['here']],
  ],
  ['one that only the cache lacks stays', 'gone', ['gone', 'here'], [undefined, ['gone', 'here']]],
  ['one that no machine lists is nothing', 'other', ['here'], [undefined, ['gone', 'here']]],
] as const)('%s', async (_, name, stored, expected) =>
  expect(await listAfter(name, stored, ['here'])).toEqual(expected),
)

test('a machine that lists a job without a record wakes it, also the first time that it is seen', () => {
  const woken: string[] = []
  const heard: ((before: undefined, now: unknown) => void)[] = []
  const nothing = { get: () => undefined, list: () => [], byIndex: () => [], onChange: () => () => undefined }
  const names = ['jobs', 'permits', 'nodes', 'remediers', 'holds', 'maintenance'] as const
  const machines = { ...nothing, onChange: (listener: (typeof heard)[number]) => void heard.push(listener) }
  const caches = { ...Object.fromEntries(names.map((name) => [name, nothing])), machines } as unknown as JobCaches
  const gate = new RequestGate(new VirtualClock(), () => undefined)
  wakeUp(caches, { enqueue: (name: string) => void woken.push(name) }, gate)
  const made = aMachine({ name: 'm' })
  for (const listener of heard) listener(undefined, { ...made, spec: { ...made.spec, jobs: ['gone'] } })
  expect(woken).toEqual(['gone'])
})
