// One delivery against a server at its worst: a process that dies at any write, refusals in the middle, deletions that never end, failing discovery,
// and an Inventory that others edited. In the end the declared objects are there, and no other objects are lost.
import { describe, expect, test } from 'vitest'
import { type Inventory, inventory } from '#api/kinds/inventory.ts'
import { KINDS } from '#api/kinds.ts'
import { ANNOTATIONS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { ApiError, ConnectionError, failure } from '#kube/errors.ts'
import { seededRandom } from '#lib/random.ts'
import { Died, dyingClient } from '#test/doubles/kube/dying-client.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VIRTUAL_EPOCH_MS, VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { ClusterConnection } from './connection.ts'
import { deliver } from './deliver.ts'
import { desiredOf } from './desired.ts'

const CONFIG_MAP = coreKind('ConfigMap')
const SOURCE = 'kubenode-system/fleet'
const config = (name: string, value = '1', namespace = 'shop'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data: { value },
})

type Wrap = (client: KubeClient) => KubeClient
const asIs: Wrap = (client) => client

function world() {
  const kinds = KINDS.map((type) => ({ type, schema: type.schema, status: type.definition.status !== undefined }))
  const fake = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1), kinds })
  const sync = fake.client({ actor: 'sync' })
  const other = fake.client({ actor: 'ada' })
  const find = async (_: string, kind: string) => [...KINDS, CONFIG_MAP].find((k) => k.kind === kind)
  let n = 0
  const run = (objects: readonly KubeObject[], wrap: Wrap = asIs, types: object = { of: find, ofGroup: find }) => {
    const commit = String(++n).padStart(40, '0')
    const client = wrap(sync)
    return deliver({ name: 'prod', client, program: client, types } as unknown as ClusterConnection, {
      target: { objects: objects.map(desiredOf), rejected: [] },
      owner: { source: SOURCE, track: 'main', target: 'Member', cluster: 'prod' },
      mark: { commit, release: undefined, appliedAt: new Date(VIRTUAL_EPOCH_MS).toISOString() },
      config: { commit, prune: { enabled: true, guard: '100%' }, drift: 'Correct' },
      elsewhere: new Set(),
      approved: new Set(),
    })
  }
  const there = () =>
    Object.fromEntries(
      fake.all(CONFIG_MAP).map(({ metadata, data }) => [metadata.name, (data as { readonly value: string }).value]),
    )
  const shards = () => fake.all(inventory) as readonly Inventory[]
  const recorded = () =>
    shards()
      .flatMap(({ spec }) => spec.refs.map((r) => r.name))
      .toSorted()
  return { fake, sync, other, run, there, recorded, shards }
}

const before = [config('a'), config('b'), config('old')]
const after = [config('a'), config('b', '2'), config('c')]
const WANTED = { a: '1', b: '2', c: '1' }
type Method = 'apply' | 'delete'
/** Calls of one method get this answer for matching objects. */
const answering =
  (method: Method, isAbout: (name: string) => boolean, answer: () => unknown): Wrap =>
  (client) => {
    const instead = (type: ResourceType, about: KubeObject & { readonly name?: string }, ...rest: unknown[]) => {
      if (type.kind === 'ConfigMap' && isAbout(about.metadata?.name ?? about.name ?? '')) return answer()
      return (client[method] as (...args: unknown[]) => unknown).call(client, type, about, ...rest)
    }
    const own = (name: keyof KubeClient): unknown => {
      const found: unknown = client[name]
      return typeof found === 'function' ? (found.bind(client) as unknown) : found
    }
    return new Proxy(client, { get: (_, name) => (name === method ? instead : own(name as keyof KubeClient)) })
  }
const refusal = (status: number, message: string) => async (): Promise<never> => {
  throw new ApiError(failure(status, message), { action: 'apply', target: 'configmaps' })
}

describe('F1 F2 a delivery', () => {
  test.each(['before', 'after'] as const)(
    'whose process dies %s any write is finished by the next one',
    async (when) => {
      let deaths = 0
      for (let at = 1; ; at++) {
        const w = world()
        await w.run(before)
        const hasDied = await w
          .run(after, (client) => dyingClient(client, at, when).client)
          .then(({ result }) => result.failures.length > 0)
          .catch((error: unknown) => {
            if (error instanceof Died) return true
            throw error
          })
        // Nothing in the cluster is missing from the Inventory, wherever the run stopped.
        expect(w.recorded(), `write ${at}`).toEqual(expect.arrayContaining(Object.keys(w.there())))
        await w.run(after)
        expect([w.there(), w.recorded()], `write ${at}`).toEqual([WANTED, ['a', 'b', 'c']])
        if (!hasDied) break
        deaths++
      }
      // Both writes of the Inventory, the changes, and the deletions.
      expect(deaths).toBe(5)
    },
  )

  test('of which an object is refused applies the others, deletes what is over, and tries that one again', async () => {
    const w = world()
    await w.run(before)
    const half = await w.run(
      after,
      answering('apply', (name) => name === 'b', refusal(403, 'a policy refuses it')),
    )
    expect(half.result.failures.map(({ ref, kind }) => [ref.name, kind])).toEqual([['b', 'Refused']])
    expect(w.there()).toEqual({ a: '1', b: '1', c: '1' })
    await w.run(after)
    expect(w.there()).toEqual(WANTED)
  })

  test('into a namespace that is being deleted fails there alone, and is whole once it is back', async () => {
    const w = world()
    const both = [config('a'), config('b', '1', 'gone')]
    const ending =
      'configmaps "b" is forbidden: unable to create new content in namespace gone because it is being terminated'
    const half = await w.run(
      both,
      answering('apply', (name) => name === 'b', refusal(403, ending)),
    )
    expect(half.result.failures).toMatchObject([{ ref: { name: 'b' }, kind: 'Refused', message: ending }])
    expect([w.there(), w.recorded()]).toEqual([{ a: '1' }, ['a', 'b']])
    await w.run(both)
    expect(w.there()).toEqual({ a: '1', b: '1' })
  })
})

describe('F17 deletions', () => {
  test('that finalizers hold for good are asked for once, stay recorded, and block nothing', async () => {
    const w = world()
    await w.run(before)
    const key = { namespace: 'shop', name: 'old' }
    await w.other.patch(CONFIG_MAP, key, { type: 'merge', value: { metadata: { finalizers: ['other.io/never'] } } })
    await w.run(after)
    for (let pass = 0; pass < 3; pass++) {
      const again = await w.run(after)
      expect(again.plan.operations.filter((o) => o.kind === 'Delete')).toEqual([])
      expect(again.plan.operations.filter((o) => o.kind === 'Defer').map((o) => o.reason)).toEqual(['BeingDeleted'])
    }
    expect(w.recorded()).toEqual(['a', 'b', 'c', 'old'])
    await w.other.patch(CONFIG_MAP, key, { type: 'merge', value: { metadata: { finalizers: [] } } })
    await w.run(after)
    expect([w.there(), w.recorded()]).toEqual([WANTED, ['a', 'b', 'c']])
  })

  test('whose reply is lost are made out in the next pass', async () => {
    const w = world()
    await w.run(before)
    await w.run(after, (client) =>
      answering(
        'delete',
        (name) => name === 'old',
        async () => {
          await client.delete(CONFIG_MAP, { namespace: 'shop', name: 'old' })
          throw new ConnectionError({ code: 'KN0', message: 'the connection ended' } as never, 'unknown')
        },
      )(client),
    )
    expect([w.there(), w.recorded()]).toEqual([WANTED, ['a', 'b', 'c', 'old']])
    await w.run(after)
    expect(w.recorded()).toEqual(['a', 'b', 'c'])
  })

  test('do not happen where discovery fails, and nothing is forgotten', async () => {
    const w = world()
    await w.run(before)
    const down = refusal(503, 'the server is starting')
    const blind = await w.run([], asIs, { of: down, ofGroup: down })
    expect(new Set(blind.plan.operations.map((o) => o.kind))).toEqual(new Set(['Defer']))
    expect([Object.keys(w.there()), w.recorded()]).toEqual([
      ['a', 'b', 'old'],
      ['a', 'b', 'old'],
    ])
    await w.run([])
    expect([w.there(), w.recorded()]).toEqual([{}, []])
  })
})

describe('S25 an Inventory that another user edited', () => {
  const edit = async (w: ReturnType<typeof world>, change: (refs: Inventory['spec']['refs']) => unknown) => {
    const [shard] = w.shards()
    if (shard === undefined) throw new Error('no Inventory')
    const refs = change(shard.spec.refs) as Inventory['spec']['refs']
    await w.other.update(inventory, { ...shard, spec: { ...shard.spec, refs } })
  }

  test.each([
    ['with its UID', true],
    ['without one', false],
  ])('deletes no object that a user made and that it names %s', async (_, hasUid) => {
    const w = world()
    await w.run(before)
    const victim = await w.other.create(CONFIG_MAP, config('victim'), { fieldManager: 'kubectl-create' })
    const ref = { group: '', kind: 'ConfigMap', namespace: 'shop', name: 'victim' }
    await edit(w, (refs) => [...refs, { ...ref, ...(hasUid && { uid: victim.metadata.uid }) }])
    await w.run(after)
    expect([w.there(), w.recorded()]).toEqual([{ ...WANTED, victim: '1' }, ['a', 'b', 'c']])
  })

  test('deletes no object of another source', async () => {
    const w = world()
    await w.run(before)
    const annotations = { [ANNOTATIONS.source]: 'kubenode-system/theirs' }
    const theirs = { ...config('theirs'), metadata: { ...config('theirs').metadata, annotations } }
    const { metadata } = await w.other.create(CONFIG_MAP, theirs)
    const ref = { group: '', kind: 'ConfigMap', namespace: 'shop', name: 'theirs' }
    await edit(w, (refs) => [...refs, { ...ref, uid: metadata.uid }])
    await w.run(after)
    expect([w.there(), w.recorded()]).toEqual([{ ...WANTED, theirs: '1' }, ['a', 'b', 'c']])
  })

  test('that lost its entries loses no object that is declared, and deletes none', async () => {
    const w = world()
    await w.run(before)
    await edit(w, () => [])
    await w.run(after)
    expect([w.there(), w.recorded()]).toEqual([{ ...WANTED, old: '1' }, ['a', 'b', 'c']])
  })
})
