import { seededRandom } from '#lib/random.ts'
import { silentLogger } from '#lib/log.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import type { Call } from '#test/doubles/kube/faults.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { describe, expect, test } from 'vitest'
import { createInformers, requireFresh } from './informers.ts'

const NODE = coreKind('Node')
const SECRET = coreKind('Secret')
const node = (name: string, zone: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { zone } },
})
const zoneOf = (o: KubeObject) => [o.metadata.labels?.['zone'] ?? '']

function world() {
  const clock = new VirtualClock()
  const calls: Call[] = []
  const fake = new FakeKube({
    clock,
    random: seededRandom(1),
    faults: { call: (call) => (calls.push(call), undefined) },
  })
  const client = fake.client({ actor: 'controllers' })
  const informers = createInformers({ client, clock, random: seededRandom(2), log: silentLogger })
  const lists = (plural: string) => calls.filter((c) => c.verb === 'list' && c.type?.plural === plural).length
  return { clock, fake, informers, lists }
}

describe('shared informers', () => {
  test('everybody who asks for a kind gets the same cache, listed once', async () => {
    const { fake, informers, lists } = world()
    fake.plant(NODE, node('a', 'east'))
    const first = informers.of(NODE)
    informers.start()
    expect(informers.of(NODE)).toBe(first)
    await informers.synced()
    expect(first.list().map((o) => o.metadata.name)).toEqual(['a'])
    expect(lists('nodes')).toBe(1)
    await informers.stop()
  })

  test('a kind asked for after the start is watched at once, and tells its late handlers what is there', async () => {
    const { fake, informers } = world()
    fake.plant(NODE, node('a', 'east'))
    informers.start()
    const nodes = informers.of(NODE)
    await nodes.synced()
    const seen: (string | undefined)[] = []
    nodes.onChange((_, now) => void seen.push(now?.metadata.name))
    expect(seen).toEqual(['a'])
    await informers.stop()
  })

  test('an index may be added while the cache is in use', async () => {
    const { fake, informers } = world()
    fake.plant(NODE, node('a', 'east'))
    fake.plant(NODE, node('b', 'west'))
    const nodes = informers.of(NODE)
    informers.start()
    await nodes.synced()
    informers.of(NODE, { indexes: { zone: zoneOf } })
    expect(nodes.byIndex('zone', 'west').map((o) => o.metadata.name)).toEqual(['b'])
    await informers.stop()
  })

  test('our own write is in the cache at once, reported once, and not again by the watch', async () => {
    const { clock, fake, informers } = world()
    const nodes = informers.of(NODE)
    informers.start()
    await nodes.synced()
    const told: (string | undefined)[] = []
    nodes.onChange((before, now) => void told.push(`${before?.metadata.name} ${now?.metadata.name}`))
    const made = await fake.client({ actor: 'us' }).create(NODE, node('a', 'east'))
    nodes.assume(made)
    expect(nodes.get('a')?.metadata.uid).toBe(made.metadata.uid)
    await clock.advance(1_000)
    expect(told).toEqual(['undefined a'])
    await fake.client({ actor: 'us' }).delete(NODE, { name: 'a' })
    await clock.advance(1_000)
    expect(told).toEqual(['undefined a', 'a undefined'])
    await informers.stop()
  })

  test('nothing is assumed where only the server knows whether the watch will ever tell of it', async () => {
    const { informers } = world()
    const made = { ...node('a', 'east'), metadata: { name: 'a', namespace: 'x', uid: 'u', resourceVersion: '900' } }
    const selections = [{ labelSelector: 'zone=west' }, { fieldSelector: 'metadata.name=b' }, { namespace: 'y' }]
    const caches = [...selections, { namespace: 'x' }].map((selection) => informers.of(SECRET, { selection }))
    for (const cache of caches) cache.assume(made)
    expect(caches.map((cache) => cache.list().length)).toEqual([0, 0, 0, 1])
    await informers.stop()
  })

  test('a handler that writes while a list is reported gets each object in the order of its versions', async () => {
    const { fake, informers } = world()
    for (const name of ['a', 'b']) fake.plant(NODE, node(name, 'east'))
    const nodes = informers.of(NODE)
    const told: string[] = []
    nodes.onChange((_, now) => {
      const b = nodes.get('b')
      if (now?.metadata.name === 'a' && b !== undefined)
        nodes.assume(fake.poke(NODE, { name: 'b' }, { metadata: { labels: { zone: 'west' } } }))
    })
    nodes.onChange((_, now) => void told.push(`${now?.metadata.name} ${now?.metadata.labels?.['zone']}`))
    informers.start()
    await nodes.synced()
    expect(told).toEqual(['a east', 'b east', 'b west'])
    await informers.stop()
  })

  test('managedFields are not kept', async () => {
    const { fake, informers } = world()
    await fake.client({ actor: 'user' }).apply(NODE, node('a', 'east'), { fieldManager: 'user' })
    const nodes = informers.of(NODE)
    informers.start()
    await nodes.synced()
    expect(nodes.get('a')?.metadata.managedFields).toBeUndefined()
    await informers.stop()
  })

  test('another part of a kind is another cache', async () => {
    const { fake, informers } = world()
    for (const namespace of ['one', 'two'])
      fake.plant(SECRET, { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: 's' } })
    const one = informers.of(SECRET, { selection: { namespace: 'one' } })
    const all = informers.of(SECRET)
    informers.start()
    await informers.synced()
    expect(one.list()).toHaveLength(1)
    expect(all.list()).toHaveLength(2)
    await informers.stop()
  })

  test('a cache that is not complete, or was not heard of for long, may not be decided upon', async () => {
    const { clock, fake, informers } = world()
    const nodes = informers.of(NODE)
    expect(() => requireFresh([nodes])).toThrow(/KN3050.*cache of nodes is not complete/)
    informers.start()
    await nodes.synced()
    requireFresh([nodes])
    fake.faults = { call: () => ({ kind: 'lose', when: 'before' }) }
    fake.closeWatches()
    await clock.advance(200_000)
    expect(() => requireFresh([nodes])).toThrow(/KN3051.*no updates of nodes/)
    await informers.stop()
  })
})
