// Clusters with control planes on the hub, from the object to the API server and back: with the shipped roles and policies, a Defender, and the real host.
import { X509Certificate } from 'node:crypto'
import { connect as connectSocket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { inventory } from '#api/kinds/inventory.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { CLUSTERS_NAMESPACE } from '#api/names.ts'
import type { ControlPlaneHost } from '#controlplanes/port.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { inParallel } from '#lib/pool.ts'
import { planeClient } from '#test/support/servers/plane-client.ts'
import { clusterWorld, foldersIn, type ClusterWorld } from '#test/support/worlds/cluster-world.ts'
import { inFull } from '#test/support/tools/full.ts'

const secrets = coreKind('Secret')

let world: ClusterWorld | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

async function kubeconfigOf(w: ClusterWorld, name: string): Promise<string | undefined> {
  const secret = await w.admin.get(secrets, { namespace: CLUSTERS_NAMESPACE, name: `cluster-${name}` })
  const data = secret?.['data']
  return data?.['kubeconfig'] === undefined ? undefined : Buffer.from(data['kubeconfig'], 'base64').toString('utf8')
}

const adminOf = async (w: ClusterWorld, name: string) => {
  const identity = { user: 'test', groups: ['system:masters'], lifeMs: 3_600_000 }
  return planeClient((await w.host.kubeconfig(`kubenode-system.${name}`, identity)) ?? '')
}

const ports = async (w: ClusterWorld): Promise<readonly number[]> => (await w.host.list()).map((p) => p.port)

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connectSocket(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })

describe('a Cluster with an embedded control plane', () => {
  test('is made, serves with a kubeconfig of sync, and is removed with all that belongs to it', async () => {
    const w = (world = await clusterWorld())
    await w.declare('one')
    const { status } = await w.untilPhase('one', 'Ready')
    expect(status).toMatchObject({
      highAvailability: 'No',
      versions: [{ part: 'apiserver', version: '1.36.0' }],
      kubeconfigSecret: { name: 'cluster-one', key: 'kubeconfig' },
      history: [{ version: '1.36.0', message: 'created' }],
    })
    await w.until('there is a kubeconfig', async () => (await kubeconfigOf(w, 'one')) !== undefined)
    const client = planeClient((await kubeconfigOf(w, 'one')) ?? '')
    expect(await client.user()).toBe('kubenode:sync')
    expect(await client.version()).toBe('1.36.0')
    client.close()
    const [port = 0] = await ports(w)
    await w.remove('one')
    await w.untilGone('one')
    expect(foldersIn(w)).toEqual([])
    expect(await kubeconfigOf(w, 'one')).toBeUndefined()
    expect(await isOpen(port)).toBe(false)
  })

  test('is kept while git declares it, although its Cluster was deleted by hand', async () => {
    const w = (world = await clusterWorld())
    await w.declare('one', {}, true)
    const { uid } = (await w.untilPhase('one', 'Ready')).metadata
    const ref = {
      group: 'kubenode.io',
      kind: 'Cluster',
      namespace: 'kubenode-system',
      name: 'one',
      digest: 'a'.repeat(16),
    }
    const lists = (refs: readonly object[]) =>
      w.admin.apply(
        inventory,
        {
          apiVersion: 'kubenode.io/v1alpha1',
          kind: 'Inventory',
          metadata: { name: 'fleet' },
          spec: { source: 'kubenode-system/fleet', track: 'fleet', target: 'Hub', shard: 0, shards: 1, refs },
        },
        { fieldManager: 'git', force: true },
      )
    await lists([{ ...ref, uid }])
    await w.remove('one')
    await w.until('it waits', async () => (await w.get('one'))?.status?.waitingFor?.predicate === 'StillDeclared')
    expect(await w.host.list()).toMatchObject([{ state: 'Running' }])
    expect((await w.admin.list(operationPermit)).items).toEqual([])
    await lists([])
    await w.untilGone('one')
    expect(foldersIn(w)).toEqual([])
  })

  test('is kept when its Cluster is deleted with deletionPolicy Orphan, and belongs to the next one of the name', async () => {
    const w = (world = await clusterWorld())
    await w.declare('one', { deletionPolicy: 'Orphan' })
    await w.untilPhase('one', 'Ready')
    const before = await adminOf(w, 'one')
    await before.write('kept', 'yes')
    before.close()
    await w.remove('one')
    await w.untilGone('one')
    expect(await w.host.list()).toMatchObject([{ state: 'Running' }])
    await w.declare('one')
    const again = await w.untilPhase('one', 'Ready')
    expect((await w.host.list())[0]?.owner).toBe(again.metadata.uid)
    const after = await adminOf(w, 'one')
    expect(await after.read('kept')).toBe('yes')
    after.close()
    await w.remove('one')
    await w.untilGone('one')
    expect(foldersIn(w)).toEqual([])
  })

  test('is upgraded after a snapshot with a permit, goes back, and is restored', async () => {
    const w = (world = await clusterWorld())
    await w.declare('one', { version: '1.35.1' })
    await w.untilPhase('one', 'Ready')
    const client = await adminOf(w, 'one')
    await client.write('value', 'first')
    await w.declare('one', { version: '1.36.0', controlPlane: { flavor: 'embedded', snapshot: 'mine' } })
    await w.until('the new version runs', async () => (await client.version()) === '1.36.0')
    await w.until('the snapshot is there', async () => {
      const names = (await w.get('one'))?.status?.snapshots?.map((s) => s.name) ?? []
      return names.includes('mine') && names.includes('from-1-35-1-to-1-36-0')
    })
    const permits = (await w.admin.list(operationPermit)).items
    expect(permits.map((p) => p.spec.operations)).toContainEqual(['ChangeControlPlane'])
    await client.write('value', 'second')
    await w.declare('one', { version: '1.35.1' })
    await w.until('the old version runs', async () => (await client.version()) === '1.35.1')
    expect(await client.read('value')).toBe('second')
    const restore = { snapshot: 'mine', attempt: 1 }
    await w.declare('one', { version: '1.35.1', controlPlane: { flavor: 'embedded', restore } })
    await w.until('it is restored', async () => (await w.get('one'))?.status?.restored === 'mine/1')
    expect(await client.read('value')).toBe('first')
    client.close()
    const { status } = await w.untilPhase('one', 'Ready')
    expect(status?.history?.map((h) => h.version)).toEqual(['1.35.1', '1.36.0', '1.35.1'])
  })

  test('comes back with its host, and gets a new kubeconfig when its own is damaged', async () => {
    const w = (world = await clusterWorld())
    await w.declare('one')
    await w.untilPhase('one', 'Ready')
    await w.until('there is a kubeconfig', async () => (await kubeconfigOf(w, 'one')) !== undefined)
    await w.stopController()
    const key = { namespace: CLUSTERS_NAMESPACE, name: 'cluster-one' }
    await w.admin.patch(secrets, key, { type: 'merge', value: { data: { kubeconfig: 'eA==' } } })
    await w.restartHost()
    await w.startController()
    await w.until(
      'the kubeconfig is whole',
      async () => (await kubeconfigOf(w, 'one'))?.includes('apiVersion') === true,
    )
    const client = planeClient((await kubeconfigOf(w, 'one')) ?? '')
    expect(await client.version()).toBe('1.36.0')
    client.close()
    const { config } = parseSafeKubeconfig((await kubeconfigOf(w, 'one')) ?? '', 'test')
    const cert = config.clientCertificate?.cert
    const { validToDate } = new X509Certificate(cert !== undefined && 'data' in cert ? cert.data : '')
    expect((validToDate.getTime() - Date.now()) / 86_400_000).toBeGreaterThan(80)
  })
})

describe('what cannot be done waits with a reason:', () => {
  test('a version that no host serves, a skipped minor, a port of another, a full host', async () => {
    const w = (world = await clusterWorld({ most: 1 }))
    const waits = async (name: string, predicate: string) =>
      w.until(
        `${name} waits for ${predicate}`,
        async () => (await w.get(name))?.status?.waitingFor?.predicate === predicate,
      )
    await w.declare('old', { version: '1.20.0' })
    await waits('old', 'VersionNotServed')
    await w.declare('one', { version: '1.34.0' })
    await w.untilPhase('one', 'Ready')
    await w.declare('one', { version: '1.36.0' })
    await waits('one', 'SkewRefused')
    const [port = 0] = await ports(w)
    await w.declare('two', { controlPlane: { flavor: 'embedded', endpoint: { port } } })
    await waits('two', 'EndpointTaken')
    await w.declare('three')
    await waits('three', 'HostFull')
    expect((await w.host.list()).map((p) => p.id)).toEqual(['kubenode-system.one'])
  })

  test('a Secret that a person made is left alone', async () => {
    const w = (world = await clusterWorld())
    const key = { namespace: CLUSTERS_NAMESPACE, name: 'cluster-one' }
    const data = { kubeconfig: Buffer.from('theirs').toString('base64') }
    await w.admin.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: key, data })
    await w.declare('one')
    await w.until('it waits', async () => (await w.get('one'))?.status?.waitingFor?.predicate === 'SecretTaken')
    expect(await kubeconfigOf(w, 'one')).toBe('theirs')
    await w.remove('one')
    await w.untilGone('one')
    expect(await kubeconfigOf(w, 'one')).toBe('theirs')
  })
})

const HARMFUL = ['put', 'stop', 'snapshot', 'delete', 'kubeconfig'] as const

/** Each call is done, and its reply is lost once: as a controller that was killed right after it. */
function forgetful(host: ControlPlaneHost): ControlPlaneHost {
  const lost = new Set<string>()
  return new Proxy(host, {
    get(target, property) {
      const found: unknown = Reflect.get(target, property, target)
      if (typeof found !== 'function') return found
      if (!HARMFUL.some((c) => c === property)) return found.bind(target) as unknown
      return async (...args: readonly unknown[]) => {
        const answer: unknown = await found.apply(target, args)
        if (lost.has(String(property))) return answer
        lost.add(String(property))
        throw new Error(`the reply of ${String(property)} was lost`)
      }
    },
  })
}

test('a controller that loses the reply of each call once ends at the same state', async () => {
  const w = (world = await clusterWorld())
  await w.stopController()
  await w.startController(forgetful(w.host))
  await w.declare('one', { version: '1.35.0' })
  await w.untilPhase('one', 'Ready')
  await w.declare('one', { version: '1.36.0' })
  await w.until('it runs the new version', async () => (await w.host.list())[0]?.version === '1.36.0')
  await w.remove('one')
  await w.untilGone('one')
  expect(foldersIn(w)).toEqual([])
})

/** Some at once are enough to meet over ports and folders. */
const MANY = inFull(20, 6)
test(`${MANY} clusters that are made and deleted leave no object, port or folder`, async () => {
  const w = (world = await clusterWorld())
  const names = Array.from({ length: MANY }, (_, n) => `c-${n}`)
  await inParallel(names, MANY, async (name) => w.declare(name))
  await inParallel(names, MANY, async (name) => void (await w.untilPhase(name, 'Ready')))
  const used = await ports(w)
  expect(new Set(used).size).toBe(MANY)
  await inParallel(names, MANY, async (name) => w.remove(name))
  await inParallel(names, MANY, async (name) => w.untilGone(name))
  expect(foldersIn(w)).toEqual([])
  expect((await Promise.all(used.map(isOpen))).filter(Boolean)).toEqual([])
  const left = (await w.admin.list(secrets, { namespace: CLUSTERS_NAMESPACE })).items.map((s) => s.metadata.name)
  expect(left).toEqual([])
})
