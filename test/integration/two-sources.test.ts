// S27: two FleetSources write the same clusters. Neither overwrites, prunes or forges the other's objects, or stops when the other is hostile or broken.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { ONLY_IN_FULL, isFull, onlyInFull } from '#test/support/tools/full.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { release } from '#api/kinds/release.ts'
import { SYSTEM_NAMESPACE, sourceUser } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import {
  CONFIG_MAP,
  eventually,
  GitFolder,
  NAMESPACE,
  syncBench,
  type SyncBench,
  whileTimePasses,
} from '#test/support/benches/sync-bench.ts'

let bench: SyncBench | undefined
let other: GitFolder | undefined
afterEach(async () => {
  await bench?.close()
  other?.remove()
  bench = undefined
  other = undefined
})

const RBAC = 'rbac.authorization.k8s.io'
const rbac = (kind: string, plural: string): ResourceType => ({
  group: RBAC,
  version: 'v1',
  kind,
  plural,
  namespaced: kind === 'Role' || kind === 'RoleBinding',
})
const ROLE = rbac('Role', 'roles')
const BINDING = rbac('RoleBinding', 'rolebindings')
const CLUSTER_ROLE = rbac('ClusterRole', 'clusterroles')
const CLUSTER_BINDING = rbac('ClusterRoleBinding', 'clusterrolebindings')
const by = { fieldManager: 'test', force: true } as const
const EVERYTHING = ['get', 'list', 'create', 'patch', 'update', 'delete']

/** All rights on ConfigMaps of one namespace, as an administrator grants them to a tenant. */
async function letWrite(client: KubeClient, source: string, namespace: string): Promise<void> {
  const metadata = { namespace, name: source }
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: EVERYTHING }]
  const subjects = [{ kind: 'User', apiGroup: RBAC, name: sourceUser(SYSTEM_NAMESPACE, source) }]
  await client.apply(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, by)
  await client.apply(ROLE, { apiVersion: `${RBAC}/v1`, kind: 'Role', metadata, rules }, by)
  const roleRef = { apiGroup: RBAC, kind: 'Role', name: source }
  await client.apply(BINDING, { apiVersion: `${RBAC}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects }, by)
}

/** What the platform's own source declares on the hub. */
async function letDeclareHub(client: KubeClient, source: string): Promise<void> {
  const metadata = { name: source }
  const rules = [{ apiGroups: ['kubenode.io'], resources: ['clusters', 'releasepipelines'], verbs: EVERYTHING }]
  const subjects = [{ kind: 'User', apiGroup: RBAC, name: sourceUser(SYSTEM_NAMESPACE, source) }]
  await client.apply(CLUSTER_ROLE, { apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', metadata, rules }, by)
  const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: source }
  await client.apply(
    CLUSTER_BINDING,
    { apiVersion: `${RBAC}/v1`, kind: 'ClusterRoleBinding', metadata, roleRef, subjects },
    by,
  )
}

const HUB = `
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'test', clusters: { names: ['test'] }, minSuccessTime: '0s', progressDeadline: '10m', offlineDeadline: '1h' }] } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' }, stage: 'test' } })
`

/** `config('shop/a', '1')` declares a ConfigMap; what else comes as code. */
const fleet = (code: string, hub = '') => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
${hub}
const chart = new ClusterChart(app, 'test')
let n = 0
const object = (o: { apiVersion: string; kind: string; metadata: object }) => new ApiObject(chart, 'o' + n++, o)
const config = (path: string, version: string, more: Record<string, string> = {}) => {
  const [namespace, name] = path.split('/')
  return object({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { version, ...more } } as never)
}
${code}
app.synth()
`,
})

const WRITES_A = {
  kinds: ['ConfigMap', 'Cluster.kubenode.io', 'ReleasePipeline.kubenode.io'],
  namespaces: ['shared', 'platform', SYSTEM_NAMESPACE],
}
const WRITES_B = { kinds: ['ConfigMap'], namespaces: ['shared', 'shop'] }

/** A second source besides the bench's, which is called `fleet`. */
async function declareSource(b: SyncBench, name: string, repository: GitFolder, more: object): Promise<void> {
  const spec = {
    url: `file://${repository.dir}`,
    ref: { branch: 'main' },
    interval: '1s',
    verify: { mode: 'Off' as const },
    tracks: [{ name: 'fleet', pipelineRef: { name: 'standard' } }],
    prune: { guard: '100%' as const },
    ...more,
  }
  const metadata = { name, namespace: SYSTEM_NAMESPACE }
  await b.hub.client.apply(fleetSource, { apiVersion: 'kubenode.io/v1alpha1', kind: 'FleetSource', metadata, spec }, by)
}

async function twoSources(writes: typeof WRITES_A | null = WRITES_A) {
  const b = await syncBench(['test'], { prune: { guard: '100%' }, ...(writes === null ? {} : { writes }) })
  const second = new GitFolder()
  bench = b
  other = second
  const client = b.client('test')
  await letDeclareHub(b.hub.client, 'fleet')
  for (const namespace of ['shared', 'platform']) await letWrite(client, 'fleet', namespace)
  for (const namespace of ['shared', 'shop']) await letWrite(client, 'shop', namespace)
  const versionOf = async (path: string) => {
    const [namespace = '', name = ''] = path.split('/')
    const found = await client.get(CONFIG_MAP, { namespace, name })
    return found?.['data']?.['version'] ?? 'absent'
  }
  const has = (path: string, version: string) =>
    eventually(
      () => versionOf(path),
      (v) => v === version,
    )
  const sourceStatus = async (name: string) =>
    JSON.stringify((await b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name }))?.status ?? {})
  const releaseSays = async (source: string) => {
    const all = (await b.hub.client.list(release, { namespace: SYSTEM_NAMESPACE })).items
    return JSON.stringify(all.filter((r) => r.spec.source === source).map((r) => r.status))
  }
  const says = (look: (source: string) => Promise<string>, source: string, text: string) =>
    eventually(
      () => look(source),
      (seen) => seen.includes(text),
    )
  return { b, second, client, versionOf, has, sourceStatus, releaseSays, says }
}

test('S27 without spec.writes the later source is refused, the first goes on, and both are followed once each has a list', async () => {
  const { b, second, has, versionOf, sourceStatus, says } = await twoSources(null)
  b.repository.commit(fleet(`config('shared/a', '1')`, HUB))
  second.commit(fleet(`config('shared/a', 'stolen'); config('shop/b', '1')`))
  await b.start()
  await has('shared/a', '1')
  await declareSource(b, 'shop', second, { writes: WRITES_B })
  await says(
    sourceStatus,
    'shop',
    'KN1524: cannot follow FleetSource kubenode-system/shop beside kubenode-system/fleet',
  )
  b.repository.commit(fleet(`config('shared/a', '2')`, HUB))
  await has('shared/a', '2')
  expect(await versionOf('shop/b')).toBe('absent')
  expect(await sourceStatus('fleet')).not.toContain('KN74')

  await b.hub.client.patch(
    fleetSource,
    { namespace: SYSTEM_NAMESPACE, name: 'fleet' },
    { type: 'merge', value: { spec: { writes: WRITES_A } } },
  )
  await has('shop/b', '1')
  expect(await versionOf('shared/a')).toBe('2')
})

test('S27 eight sources whose servers accept connections and never answer do not delay another', async () => {
  const { b, second, has } = await twoSources()
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => void sockets.add(socket.on('error', () => undefined)))
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const url = `https://localhost:${(silent.address() as AddressInfo).port}/fleet`
  try {
    b.repository.commit(fleet(`config('shared/a', '1')`, HUB))
    await b.start()
    await has('shared/a', '1')
    for (let n = 0; n < 8; n++)
      await declareSource(b, `silent-${n}`, second, { url, writes: { kinds: ['ConfigMap'], namespaces: [`n-${n}`] } })
    await eventually(
      async () => sockets.size,
      (connections) => connections === 8,
    )
    b.repository.commit(fleet(`config('shared/a', '2')`, HUB))
    await has('shared/a', '2')
  } finally {
    for (const socket of sockets) socket.destroy()
    silent.close()
  }
})

test('S27 a hostile source overwrites, prunes and forges nothing of the other, and its own objects are applied all the same', async () => {
  const { b, second, client, has, versionOf, releaseSays, says } = await twoSources()
  b.repository.commit(fleet(`config('shared/a', '1'); config('platform/p', '1')`, HUB))
  second.commit(
    fleet(`
config('shared/a', 'stolen')
config('platform/p', 'stolen')
config('platform/new', 'stolen')
config('shop/b', '1')
object({ apiVersion: 'kubenode.io/v1alpha1', kind: 'Inventory', metadata: { name: 'kubenode-system.shop.fleet.0' }, spec: { source: 'kubenode-system/shop', track: 'fleet', shard: 0, shards: 1, refs: [{ group: '', kind: 'ConfigMap', namespace: 'platform', name: 'p' }, { group: '', kind: 'ConfigMap', namespace: 'shared', name: 'a' }] } } as never)
object({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'noted', namespace: 'shop', annotations: { 'kubenode.io/source': 'kubenode-system/fleet' } } })
`),
  )
  await b.start()
  await has('shared/a', '1')
  await declareSource(b, 'shop', second, { writes: WRITES_B })
  await has('shop/b', '1')
  await says(releaseSays, 'shop', 'KN7404: the object belongs to FleetSource kubenode-system/fleet')
  const status = await b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'shop' })
  const errors = (status?.status?.renderErrors ?? []).join('\n')
  expect(errors).toMatch(
    /ConfigMap\/platform\/p .*KN7403: spec\.writes of FleetSource kubenode-system\/shop lacks namespace platform/,
  )
  expect(errors).toMatch(/ConfigMap\/platform\/new .*KN7403/)
  expect(errors).toContain('KN3090: kind Inventory is written by KubeNode programs only')
  expect(errors).toContain('KN3090: annotation kubenode.io/source')
  expect([await versionOf('shared/a'), await versionOf('platform/p'), await versionOf('platform/new')]).toEqual([
    '1',
    '1',
    'absent',
  ])

  // The existing source continues, and objects that the hostile one withdraws are not deleted.
  b.repository.commit(fleet(`config('shared/a', '2'); config('platform/p', '1')`, HUB))
  await has('shared/a', '2')
  second.commit(fleet(`config('shop/b', '2')`))
  await has('shop/b', '2')
  expect([await versionOf('shared/a'), await versionOf('platform/p')]).toEqual(['2', '1'])
  const mine = (await client.list(inventory)).items.filter((i) => i.spec.source === 'kubenode-system/shop')
  expect(mine.flatMap((i) => i.spec.refs.map((r) => r.name))).toEqual(['b'])

  // An existing forged Inventory, by any author, deletes nothing either.
  const [shard] = mine
  const refs = [...(shard?.spec.refs ?? []), { group: '', kind: 'ConfigMap', namespace: 'shared', name: 'a' }]
  await client.update(inventory, { ...shard!, spec: { ...shard!.spec, refs } }, { fieldManager: 'thief' })
  second.commit(fleet(`config('shop/b', '3')`))
  await has('shop/b', '3')
  expect(await versionOf('shared/a')).toBe('2')

  // Each prunes what is its own.
  b.repository.commit(fleet(`config('shared/a', '2')`, HUB))
  await has('platform/p', 'absent')
  second.commit(fleet(`config('shop/last', '1')`))
  await has('shop/b', 'absent')
  expect(await versionOf('shared/a')).toBe('2')
})

test('S27 each source puts back what others changed or deleted of its own, and one that is held leaves the other to it', async () => {
  const { b, second, client, has, versionOf } = await twoSources()
  b.repository.commit(fleet(`config('shared/a', '1'); config('platform/p', '1')`, HUB))
  second.commit(fleet(`config('shared/b', '1'); config('shop/c', '1')`))
  await b.start()
  await has('platform/p', '1')
  await declareSource(b, 'shop', second, { writes: WRITES_B })
  await has('shop/c', '1')
  const edit = async (path: string) => {
    const [namespace = '', name = ''] = path.split('/')
    await client.patch(CONFIG_MAP, { namespace, name }, { type: 'merge', value: { data: { version: 'edited' } } })
  }
  const remove = async (path: string) => {
    const [namespace = '', name = ''] = path.split('/')
    await client.delete(CONFIG_MAP, { namespace, name })
  }
  const all = async () => {
    const seen = ['shared/a', 'platform/p', 'shared/b', 'shop/c'].map(versionOf)
    return (await Promise.all(seen)).join(' ')
  }
  const becomes = (wanted: string) => whileTimePasses(b, 2 * MINUTE_MS, all, (seen) => seen === wanted)
  for (const path of ['shared/a', 'shared/b']) await edit(path)
  for (const path of ['platform/p', 'shop/c']) await remove(path)
  await becomes('1 1 1 1')
  for (const [name, source] of [
    ['a', 'fleet'],
    ['b', 'shop'],
  ] as const) {
    const found = await client.get(CONFIG_MAP, { namespace: 'shared', name })
    expect(found?.metadata.annotations?.['kubenode.io/source']).toBe(`${SYSTEM_NAMESPACE}/${source}`)
    expect(managersOf(found)).toContain(`kubenode-sync.kubenode-system.${source}`)
    expect(managersOf(found)).not.toContain(`kubenode-sync.kubenode-system.${source === 'fleet' ? 'shop' : 'fleet'}`)
  }

  await holdSource(b, 'shop')
  for (const path of ['shared/a', 'shared/b']) await edit(path)
  await becomes('1 1 edited 1')
})

const MINUTE_MS = 60_000

/** A person stops one source for a day. */
async function holdSource(b: SyncBench, name: string): Promise<void> {
  const spec = {
    target: { kind: 'FleetSource' as const, name, namespace: SYSTEM_NAMESPACE },
    effect: 'Pause' as const,
    reason: 'looks at it',
    author: 'ada',
    until: new Date(Date.now() + 24 * 60 * MINUTE_MS).toISOString(),
  }
  const object = { apiVersion: 'kubenode.io/v1alpha1', kind: 'OperationalHold', metadata: { name: 'look' }, spec }
  await b.hub.client.apply(operationalHold, object, by)
}

test('S3 a source acts with the rights bound to its own user, on the hub and on clusters', async (context) => {
  onlyInFull(context)
  const { b, second, client, has, versionOf, sourceStatus, releaseSays, says } = await twoSources()
  b.repository.commit(fleet(`config('shared/a', '1')`, HUB))
  await b.start()
  await has('shared/a', '1')
  // More than are got one by one: the list over the whole cluster is not allowed.
  const many = `for (let i = 0; i < 12; i++) config('shop/b' + i, '1')`
  const stolen = `${many}\nconfig('elsewhere/x', 'stolen')`
  second.commit(fleet(stolen))
  await client.apply(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'elsewhere' } }, by)
  const wide = { ...WRITES_B, namespaces: [...WRITES_B.namespaces, 'elsewhere'] }
  await declareSource(b, 'shop', second, { writes: wide })
  const user = sourceUser(SYSTEM_NAMESPACE, 'shop')
  await has('shop/b11', '1')
  await says(releaseSays, 'shop', user)
  expect(await versionOf('elsewhere/x')).toBe('absent')
  // What the hub refuses reaches no cluster either.
  const onHub = `const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })\nnew ApiObject(hub, 'x', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'on-hub', namespace: 'shop' } })`
  second.commit(fleet(`${stolen}; config('shop/c', '1')`, onHub))
  await says(sourceStatus, 'shop', user)
  expect(await versionOf('shop/c')).toBe('absent')
  second.commit(fleet(`config('shop/b0', '2')`))
  await has('shop/b0', '2')
  await has('shop/b11', 'absent')
})

test('S27 a source that breaks or is deleted leaves its objects and stops no other; one that is renamed takes them over', async (context) => {
  // What one source does to the objects of another is tested above with a hostile one.
  onlyInFull(context)
  const { b, second, client, has, versionOf, sourceStatus, releaseSays, says } = await twoSources()
  b.repository.commit(fleet(`config('shared/a', '1')`, HUB))
  second.commit(fleet(`config('shop/b', '1'); config('shop/c', '1', { gone: 'x' }); config('shop/d', '1')`))
  await b.start()
  await declareSource(b, 'shop', second, { writes: WRITES_B })
  await has('shop/d', '1')
  second.commit(fleet(`throw new Error('broken')`))
  await says(sourceStatus, 'shop', 'KN7102')
  b.repository.commit(fleet(`config('shared/a', '2')`, HUB))
  await has('shared/a', '2')

  await b.hub.client.delete(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'shop' })
  b.repository.commit(fleet(`config('shared/a', '3')`, HUB))
  await has('shared/a', '3')
  expect([await versionOf('shop/b'), await versionOf('shop/c')]).toEqual(['1', '1'])

  for (const namespace of ['shared', 'shop']) await letWrite(client, 'store', namespace)
  second.commit(fleet(`config('shop/b', '2'); config('shop/c', '2')`))
  await declareSource(b, 'store', second, { writes: WRITES_B })
  await says(releaseSays, 'store', 'after a rename, name the old source in spec.replaces')
  expect([await versionOf('shop/b'), await versionOf('shop/c')]).toEqual(['1', '1'])
  await declareSource(b, 'store', second, { writes: WRITES_B, replaces: ['kubenode-system/shop'] })
  await has('shop/b', '2')
  await has('shop/d', 'absent')
  const c = await client.get(CONFIG_MAP, { namespace: 'shop', name: 'c' })
  expect(c?.['data']).toEqual({ version: '2' })
  expect(managersOf(c)).toEqual(['kubenode-sync.kubenode-system.store'])
  const sources = await eventually(
    async () => [...new Set((await client.list(inventory)).items.map((i) => i.spec.source))].toSorted(),
    (seen) => seen.length === 2,
  )
  expect(sources).toEqual(['kubenode-system/fleet', 'kubenode-system/store'])
})

const managersOf = (object: KubeObject | undefined) => object?.metadata.managedFields?.map((m) => m.manager)

test('S27 objects of a release that had one manager for all sources are marked, and lose what git drops', async ({
  skip,
}) => {
  // Sync checks idle clusters once a minute.
  if (!isFull) skip(ONLY_IN_FULL)
  const { b, client, has } = await twoSources(null)
  b.repository.commit(fleet(`config('shared/a', '1', { keep: 'x', gone: 'x' })`, HUB))
  const stop = await b.start()
  await has('shared/a', '1')
  await stop()
  // As the release before left it.
  const key = { namespace: 'shared', name: 'a' }
  const now = await client.get(CONFIG_MAP, key)
  const annotations = { ...now?.metadata.annotations, 'kubenode.io/source': null }
  const managedFields = now?.metadata.managedFields?.map((m) => ({ ...m, manager: 'kubenode-sync' }))
  const value = { metadata: { annotations, managedFields } } as never
  await client.patch(CONFIG_MAP, key, { type: 'merge', value }, { fieldManager: 'kubenode-sync' })
  await b.start()
  const marked = await eventually(
    () => client.get(CONFIG_MAP, key),
    (o) => o?.metadata.annotations?.['kubenode.io/source'] === 'kubenode-system/fleet',
    90_000,
  )
  expect(marked?.metadata.annotations?.['kubenode.io/commit']).toBe(now?.metadata.annotations?.['kubenode.io/commit'])
  b.repository.commit(fleet(`config('shared/a', '2', { keep: 'x' })`, HUB))
  await has('shared/a', '2')
  const after = await client.get(CONFIG_MAP, key)
  expect(after?.['data']).toEqual({ version: '2', keep: 'x' })
  expect(managersOf(after)?.filter((m) => m === 'kubenode-sync.kubenode-system.fleet')).toHaveLength(1)
})
