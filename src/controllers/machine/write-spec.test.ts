import { expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { writeSpec } from './write-spec.ts'

const KEY = { name: 'm' }
const beacon = { name: 'beacon', version: '1.0.0', attempt: 1 }
const made = {
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Machine',
  metadata: { name: 'm', labels: { 'example.com/rack': 'r1' } },
  spec: {
    providerID: 'p://1',
    leaving: true,
    components: [beacon, { name: 'of-a-user', version: '1.0.0', attempt: 1 }],
  },
}
const { signal } = new AbortController()

function world() {
  const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))
  const fake = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1), kinds })
  fake.plant(machineType, made)
  const client = fake.client({ actor: FIELD_MANAGERS.machine })
  const assumed: Machine[] = []
  const cache = { assume: (m: Machine) => assumed.push(m) > 0 }
  const now = () => fake.peek(machineType, KEY) as Machine
  return { fake, tools: { client, cache }, assumed, now }
}

test('one write replaces the fields that are ours, whoever wrote them before, and no others', async () => {
  const { fake, tools, assumed, now } = world()
  const entry = { ...beacon, version: '1.1.0', attempt: 2 }
  const written = await writeSpec(tools, now(), { providerID: 'p://1', components: [entry] }, signal)
  expect(written.kind).toBe('Applied')
  expect(now().spec).toEqual({ channel: 'Agent', providerID: 'p://1', components: [entry] })
  expect(now().metadata.labels).toEqual(made.metadata.labels)
  expect(fake.callsOf(FIELD_MANAGERS.machine)).toEqual({ calls: 1, writes: 1 })
  // The next reconcile decides on it, also before the watch delivers it.
  expect(assumed.map((m) => m.metadata.resourceVersion)).toEqual([now().metadata.resourceVersion])
})

test('a decision on an older version, or on a Machine that was replaced, is refused', async () => {
  const { fake, tools, assumed, now } = world()
  const before = now()
  fake.poke(machineType, KEY, { spec: { address: '192.0.2.1' } })
  expect((await writeSpec(tools, before, { components: [] }, signal)).kind).toBe('Conflict')
  const other = { ...now(), metadata: { ...now().metadata, uid: 'another' } }
  expect((await writeSpec(tools, other, { components: [] }, signal)).kind).not.toBe('Applied')
  expect(now().spec.components).toHaveLength(2)
  expect(assumed).toEqual([])
})
