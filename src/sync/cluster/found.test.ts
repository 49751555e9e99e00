// Another writer's object is never deleted because a commit once named it; git's own object is.
import { expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { seededRandom } from '#lib/random.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import type { ClusterConnection } from '#delivery/connection.ts'
import { refOf } from '#delivery/object-ref.ts'
import { inventory } from '#api/kinds/inventory.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VIRTUAL_EPOCH_MS, VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { applyToCluster } from './apply.ts'

const CONFIG_MAP = coreKind('ConfigMap')
const aConfig = (name: string, data: Readonly<Record<string, string>> = { a: 'git' }): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'shop' },
  data,
})

function world(inBetween: (client: KubeClient) => KubeClient = (client) => client) {
  const kinds = KINDS.map((type) => ({ type, schema: type.schema, status: type.definition.status !== undefined }))
  const fake = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1), kinds })
  const program = fake.client({ actor: 'sync' })
  const client = inBetween(program)
  const other = fake.client({ actor: 'ada' })
  const find = async (_: string, kind: string) => [...KINDS, CONFIG_MAP].find((k) => k.kind === kind)
  const connection = {
    name: 'prod',
    client,
    program,
    types: { of: find, ofGroup: find },
  } as unknown as ClusterConnection
  let n = 0
  const commit = (objects: readonly KubeObject[]) => {
    const id = String(++n).padStart(40, '0')
    return applyToCluster(connection, {
      target: {
        objects: objects.map((object) => ({ ref: refOf(object), object, digest: sha256OfJson(object) })),
        rejected: [],
      },
      owner: { source: 'kubenode-system/fleet', track: 'main', target: 'Member', cluster: 'prod' },
      mark: { commit: id, release: `main-${n}`, appliedAt: new Date(VIRTUAL_EPOCH_MS).toISOString() },
      config: { commit: id, prune: { enabled: true, guard: '100%' }, drift: 'Correct' },
      declaredIn: () => new Set(),
      elsewhere: new Set(),
      approved: new Set(),
      needs: { machines: false, repairs: false },
    })
  }
  const find1 = (name: string) => program.get(CONFIG_MAP, { namespace: 'shop', name })
  const make = (object: KubeObject) => other.create(CONFIG_MAP, object, { fieldManager: 'kubectl-create' })
  return { fake, commit, find: find1, make, other, program }
}

test('S25 an object that another writer made stays when git no longer declares it, also when the Inventory was lost meanwhile', async () => {
  const { commit, find, make, program } = world()
  await make(aConfig('theirs', { b: 'theirs' }))
  await commit([aConfig('theirs'), aConfig('ours')])
  expect((await find('theirs'))?.['data']).toEqual({ a: 'git', b: 'theirs' })
  await commit([aConfig('theirs', { a: 'changed' }), aConfig('ours')])
  for (const { metadata } of (await program.list(inventory)).items)
    await program.delete(inventory, { name: metadata.name ?? '' })
  await commit([aConfig('theirs', { a: 'again' }), aConfig('ours')])
  const { plan } = await commit([])
  expect(plan?.operations.filter((o) => o.kind === 'Forget').map(({ ref, reason }) => `${ref.name} ${reason}`)).toEqual(
    ['theirs OtherObject'],
  )
  expect((await find('theirs'))?.['data']).toEqual({ a: 'again', b: 'theirs' })
  expect(await find('ours')).toBeUndefined()
})

test('S25 one that another writer made again, after what git had made was deleted, stays too', async () => {
  const { commit, find, make, other } = world()
  await commit([aConfig('a'), aConfig('b')])
  await other.delete(CONFIG_MAP, { namespace: 'shop', name: 'a' })
  await make(aConfig('a', { b: 'theirs' }))
  await commit([aConfig('a'), aConfig('b')])
  await commit([aConfig('b')])
  expect(await find('a')).toBeDefined()
})

test('S25 one that another writer makes between the read and the write of sync stays', async () => {
  const raced: { make?: () => Promise<unknown> } = {}
  const { commit, find, make } = world((client) => ({
    ...client,
    get: client.get.bind(client),
    list: client.list.bind(client),
    delete: client.delete.bind(client),
    patch: client.patch.bind(client),
    update: client.update.bind(client),
    apply: (async (...args: Parameters<KubeClient['apply']>) => {
      const { make: first } = raced
      delete raced.make
      await first?.()
      return client.apply(...args)
    }) as KubeClient['apply'],
  }))
  raced.make = () => make(aConfig('a', { b: 'theirs' }))
  await commit([aConfig('a')])
  expect((await find('a'))?.metadata.annotations?.[ANNOTATIONS.found]).toBe('true')
  await commit([])
  expect(await find('a')).toBeDefined()
})

test('what git made and people changed since is deleted with its declaration', async () => {
  const { commit, find, other } = world()
  await commit([aConfig('a')])
  const live = (await find('a')) as KubeObject
  await other.update(CONFIG_MAP, { ...live, data: { a: 'git', c: 'more' } }, { fieldManager: 'kubectl-edit' })
  await commit([aConfig('a', { a: 'changed' })])
  await commit([])
  expect(await find('a')).toBeUndefined()
})
