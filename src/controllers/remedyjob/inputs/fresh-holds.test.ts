import { holdOn } from '#test/support/fleets/holds.ts'
import { expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { JobCaches } from './caches.ts'
import { ASKED_FOR_MS, FreshHolds } from './fresh-holds.ts'
import { Observer } from '../observe.ts'

const signal = new AbortController().signal
const hold = { ...holdOn('Node', 'n'), metadata: { name: 'wait' } }

function world() {
  const clock = new VirtualClock()
  const kinds = KINDS.map((type) => ({ type, schema: type.schema, status: type.definition.status !== undefined }))
  return { clock, fake: new FakeKube({ clock, random: seededRandom(1), kinds }) }
}

test.each([
  ['a repair begins', 'AwaitingPermit'],
  ['its next step begins', 'Running'],
])('F3 a hold that the cache has missed is seen before %s', async (_, phase) => {
  const { clock, fake } = world()
  fake.plant(operationalHold, hold)
  fake.plant(remedyOperationJob, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'RemedyOperationJob',
    metadata: { name: 'j' },
    spec: { ...remedyOperationJob.example.spec, node: { name: 'n', uid: 'u' } },
  })
  fake.poke(remedyOperationJob, { name: 'j' }, { status: { phase } }, 'status')
  const nothing = { get: () => undefined, list: () => [], byIndex: () => [], onChange: () => () => undefined }
  const names = ['jobs', 'permits', 'nodes', 'machines', 'remediers', 'revisions', 'holds', 'maintenance'] as const
  const caches = Object.fromEntries(names.map((name) => [name, nothing])) as unknown as JobCaches
  const context = { client: fake.client({ actor: 'controllers' }), clock, random: seededRandom(1) }
  const observer = new Observer(caches, context, { has: () => false })
  expect((await observer.observeFresh('j', signal))?.holds.map((h) => h.metadata.name)).toEqual(['wait'])
})

test('a burst of repairs reads the holds once, the next burst reads again, and a failed read is no answer', async () => {
  const { clock, fake } = world()
  const client = fake.client({ actor: 'controllers' })
  let reads = 0
  let isDown = true
  const holds = new FreshHolds(
    {
      list: (type, options) => {
        reads++
        return isDown ? Promise.reject(new Error('down')) : client.list(type, options)
      },
    },
    clock,
  )
  await expect(holds.now(signal)).rejects.toThrow('down')
  isDown = false
  expect(await Promise.all([holds.now(signal), holds.now(signal)])).toEqual([[], []])
  expect(reads).toBe(2)
  fake.plant(operationalHold, hold)
  clock.skip(ASKED_FOR_MS)
  expect(await holds.now(signal)).toHaveLength(1)
})
