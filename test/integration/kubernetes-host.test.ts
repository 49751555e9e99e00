// The host of Kubernetes control planes on a hub with the shipped rights and policies: what it writes is accepted, repeated and interrupted calls end the same, and
// upgrades go step by step. Pods are played by their status; test/e2e/real/kubernetes-host.full.test.ts runs them.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FIELD_MANAGERS, programUser } from '#api/names.ts'
import { KubernetesHost, type KubernetesHostOptions } from '#controlplanes/kubernetes/host.ts'
import {
  emptied,
  namespaceLabels,
  planeNamespace,
  PlaneRecords,
  type PlaneRecord,
} from '#controlplanes/kubernetes/plane-record.ts'
import { typeOf } from '#controlplanes/kubernetes/plane-objects.ts'
import type { ControlPlane, ControlPlaneRequest } from '#controlplanes/port.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { isConflict, isNotFound } from '#kube/errors.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { asLeader } from '#test/support/servers/as-leader.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { OPENED_LOG, PLAYED_WORKLOADS, playPods, type PlayedHub } from '#test/support/worlds/played-pods.ts'
import { ALL_WELL, REAL_VERSIONS } from '#test/support/worlds/kubernetes-host-world.ts'
import { shippedHub } from '#test/support/worlds/shipped-hub.ts'
import { onlyInFull } from '#test/support/tools/full.ts'

const SLOW_MS = 300_000
const PLAY_MS = 200
const kinds = PLAYED_WORKLOADS
const STATEFUL_SETS = typeOf({ apiVersion: 'apps/v1', kind: 'StatefulSet' })
const [SECRETS, NAMESPACES] = [coreKind('Secret'), coreKind('Namespace')]
const [JOBS, CLAIMS] = [coreKind('Job'), coreKind('PersistentVolumeClaim')]

let hub: Awaited<ReturnType<typeof shippedHub>>
beforeAll(async () => {
  hub = await shippedHub()
})
afterAll(() => hub.close())

const hostOn = (client: KubeClient, more: Partial<KubernetesHostOptions> = {}) =>
  new KubernetesHost({
    client: asLeader(client),
    fieldManager: FIELD_MANAGERS.cluster,
    clock: systemClock,
    versions: () => REAL_VERSIONS,
    access: [{ kind: 'User', name: programUser('cluster') }],
    readLog: async () => OPENED_LOG,
    readings: async () => ALL_WELL,
    withinMs: 20_000,
    ...more,
  })

const request = (name: string, version = '1.35.9', more: Partial<ControlPlaneRequest> = {}): ControlPlaneRequest => ({
  id: `fleet.${name}`,
  owner: `uid-${name}`,
  version,
  upgrade: { soakMs: 0, walksMinors: false },
  ...more,
})

const laterBy = (days: number) => ({ ...systemClock, now: () => systemClock.now() + days * 86_400_000 })

async function settled(hosts: KubernetesHost | HostsOfCalls, of: ControlPlaneRequest): Promise<ControlPlane> {
  for (let calls = 0; calls < 200; calls++) {
    const host = typeof hosts === 'function' ? hosts(calls) : hosts
    const result = await host.put(of).catch((error: unknown) => ({ kind: 'Lost', error }) as const)
    await playPods(hub.admin, planeNamespace(of.id))
    if (result.kind === 'Refused') throw new Error(result.message)
    if (result.kind !== 'Plane') continue
    const { plane } = result
    const isWhole = plane.state === 'Running' && plane.message === undefined
    if (isWhole && plane.change === undefined && plane.version === of.version) return plane
  }
  throw new Error(`${of.id} is never done: ${JSON.stringify(await hostOn(hub.program).get(of.id))}`)
}

/** Its pods end meanwhile. */
async function removed(host: KubernetesHost, { id, owner }: ControlPlaneRequest, keep?: string): Promise<string> {
  const over = new AbortController()
  const done = host.delete(id, { owner, ...defined({ keep }) }).finally(() => over.abort())
  while (!over.signal.aborted) {
    await playPods(hub.admin, planeNamespace(id)).catch((error: unknown) => {
      // What is removed changes while it is played.
      if (!isNotFound(error) && !isConflict(error)) throw error
    })
    await new Promise((later) => setTimeout(later, PLAY_MS))
  }
  return done
}

/** A controller that is killed at the nth write of its nth call: before it reaches the server, or after. Another one continues. */
type HostsOfCalls = (call: number) => KubernetesHost
const killed =
  (isAfter: (call: number) => boolean): HostsOfCalls =>
  (call) => {
    let writes = 0
    const client = new Proxy<KubeClient>(hub.program, {
      get: (target, name: keyof KubeClient) => {
        const method = (target[name] as (...args: readonly unknown[]) => Promise<unknown>).bind(target)
        if (!['create', 'update', 'apply', 'delete'].includes(name)) return method
        return async (...args: readonly unknown[]) => {
          // Every second call lives, as far as it comes.
          const isLast = call % 2 === 0 && ++writes === 1 + call / 2
          if (isLast && !isAfter(call)) throw new Error('killed before the write')
          const done = await method(...args)
          if (isLast) throw new Error('killed after the write')
          return done
        }
      },
    })
    return hostOn(client)
  }

const contentOf = async (namespace: string): Promise<readonly string[]> => {
  const types = [...kinds, SECRETS, typeOf({ apiVersion: 'v1', kind: 'Service' })]
  const lists = await Promise.all(types.map((type) => hub.admin.list(type, { namespace })))
  return lists
    .flatMap(({ items }, n) => items.map((o) => `${types[n]?.kind ?? ''} ${o.metadata.name ?? ''}`))
    .toSorted()
}

test(
  'its API servers may not call the network of the hub, as its Nodes have it or its people wrote it down',
  async () => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'hub-1' } }
    const addresses = [{ type: 'InternalIP', address: '192.0.2.5' }]
    await hub.admin.create(coreKind('Node'), { ...node, spec: { podCIDRs: ['10.244.0.0/24'] }, status: { addresses } })
    const of = request('calls')
    const closed = async (): Promise<readonly string[]> => {
      const key = { namespace: planeNamespace(of.id), name: 'apiserver' }
      const found = await hub.admin.get(typeOf({ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' }), key)
      return JSON.stringify(found?.['spec']).match(/\d+\.\d+\.\d+\.\d+\/\d+/g) ?? []
    }
    await settled(hostOn(hub.program), of)
    expect(await closed()).toEqual(expect.arrayContaining(['10.244.0.0/24', '192.0.2.5/32', '169.254.0.0/16']))
    const network = { closed: ['10.0.0.0/8'], open: ['10.96.3.4/32'] }
    await settled(hostOn(hub.program, { network: () => network }), of)
    const after = await closed()
    expect(after).toEqual(expect.arrayContaining(['10.0.0.0/8', '169.254.0.0/16']))
    expect(after).not.toContain('192.0.2.5/32')
    expect(after.at(-1)).toBe('10.96.3.4/32')
    await hub.admin.delete(coreKind('Node'), { name: 'hub-1' })
    expect(await removed(hostOn(hub.program), of)).toBe('Deleted')
  },
  SLOW_MS,
)

test(
  'what talks only to its API servers starts once one of them answers, and stays when they are away later',
  async () => {
    const of = request('order')
    const namespace = planeNamespace(of.id)
    const host = hostOn(hub.program)
    const replicas = async (name: string): Promise<unknown> => {
      const found = await hub.admin.get(typeOf({ apiVersion: 'apps/v1', kind: 'Deployment' }), { namespace, name })
      return (found?.['spec'] as { readonly replicas?: number } | undefined)?.replicas
    }
    const answers = (are: boolean): PlayedHub => ({
      statusOf: ({ metadata }) => (metadata.name === 'kube-apiserver' && !are ? { replicas: 1 } : undefined),
    })
    for (let calls = 0; calls < 6; calls++) {
      await host.put(of)
      await playPods(hub.admin, namespace, answers(false))
    }
    expect(await Promise.all(['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'].map(replicas))).toEqual([
      1, 0, 0,
    ])
    await playPods(hub.admin, namespace, answers(true))
    const result = await host.put(of)
    expect(await Promise.all(['kube-controller-manager', 'kube-scheduler'].map(replicas))).toEqual([1, 1])
    expect(result).toMatchObject({
      plane: { state: 'Running', message: 'controller-manager is not ready: its pods start' },
    })
    await playPods(hub.admin, namespace, answers(false))
    await host.put(of)
    expect(await Promise.all(['kube-controller-manager', 'kube-scheduler'].map(replicas))).toEqual([1, 1])
    expect(await removed(host, of)).toBe('Deleted')
  },
  SLOW_MS,
)

test(
  'a control plane is made with the shipped rights, and a repeated put writes nothing new',
  async () => {
    const host = hostOn(hub.program)
    const of = request('made')
    const plane = await settled(host, of)
    expect(plane).toMatchObject({ state: 'Running', version: '1.35.9', port: 6443 })
    const namespace = planeNamespace(of.id)
    const versions = async () => {
      const all = await Promise.all([...kinds, SECRETS].map((type) => hub.admin.list(type, { namespace })))
      return all.flatMap(({ items }) => items.map((o) => o.metadata.generation ?? o.metadata.resourceVersion))
    }
    const before = await versions()
    expect(await host.put(of)).toMatchObject({ plane: { endpoint: plane.endpoint, ca: plane.ca } })
    expect(await versions()).toEqual(before)
    expect(await host.delete(of.id, { owner: 'uid-of-another' })).toBe('Owned')
    expect(await removed(host, of)).toBe('Deleted')
    expect(await hub.admin.get(NAMESPACES, { name: namespace })).toBeUndefined()
  },
  SLOW_MS,
)

const founding = async (namespace: string, key: string): Promise<string> => {
  const found = await hub.admin.get(coreKind('ConfigMap'), { namespace, name: 'etcd-founding' })
  return found?.['data']?.[key] ?? ''
}

test(
  'members of etcd may found a store until a majority serves, and never again, without a pod being replaced',
  async () => {
    const host = hostOn(hub.program)
    const of = request('founded')
    const namespace = planeNamespace(of.id)
    const state = () => founding(namespace, 'initial-cluster-state')
    const set = () => hub.admin.get(STATEFUL_SETS, { namespace, name: 'etcd' })
    const isAway = { statusOf: () => ({ replicas: 1, updatedReplicas: 1, readyReplicas: 0 }) }
    const look = async (hubPlays: PlayedHub) => {
      await host.put(of)
      await playPods(hub.admin, namespace, hubPlays)
    }
    for (let calls = 0; calls < 200 && (await set()) === undefined; calls++) await look(isAway)
    for (let calls = 0; calls < 3; calls++) await look(isAway)
    expect(await state()).toBe('new')
    const before = (await set())?.metadata.generation

    await settled(host, of)
    await host.put(of)
    expect(await state()).toBe('existing')
    for (let calls = 0; calls < 3; calls++) await look(isAway)
    expect(await state()).toBe('existing')
    expect((await set())?.metadata.generation).toBe(before)
    await removed(host, of)
  },
  SLOW_MS,
)

test(
  'a member of etcd may start with an empty volume until all have served together, and again only while it is added',
  async () => {
    const LISTED = [
      'a0, started, etcd-0, x, y, false',
      'a1, started, etcd-1, x, y, false',
      'a2, started, etcd-2, x, y, false',
    ]
    const host = hostOn(hub.program, { readLog: async () => LISTED.join('\n') })
    const etcd = { members: 3, storage: '1Gi' }
    const of = request('emptied', '1.35.9', { shape: { etcd } })
    const namespace = planeNamespace(of.id)
    const names = async () =>
      (await founding(namespace, 'initial-cluster')).split(',').map((member) => member.split('=')[0])
    const members = ['etcd-0', 'etcd-1', 'etcd-2']
    const refusing = [...members, 'empty-volumes-do-not-start']
    const set = async () => (await hub.admin.get(STATEFUL_SETS, { namespace, name: 'etcd' }))?.metadata.generation
    const look = async (hubPlays: PlayedHub = {}) => {
      const result = await host.put(of)
      await playPods(hub.admin, namespace, hubPlays)
      return result.kind === 'Plane' ? result.plane : undefined
    }
    for (let calls = 0; calls < 200 && (await set()) === undefined; calls++) await look({ away: [2] })
    for (let calls = 0; calls < 3; calls++) await look({ away: [2] })
    expect([await founding(namespace, 'initial-cluster-state'), await names()]).toEqual(['existing', members])

    for (let calls = 0; calls < 3; calls++) await look()
    expect(await names()).toEqual(refusing)
    const before = await set()

    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'data-etcd-2', namespace } }
    const resources = { requests: { storage: '1Gi' } }
    const lost = await hub.admin.create(CLAIMS, { ...claim, spec: { accessModes: ['ReadWriteOnce'], resources } })
    await hub.admin.update(CLAIMS, { ...lost, status: { phase: 'Lost' } }, { subresource: 'status' })
    for (let calls = 0; calls < 50 && (await look({ away: [2] }))?.members?.lost === undefined; calls++);
    const told: string[] = []
    for (let calls = 0; calls < 50 && !told.at(-1)?.includes('may start'); calls++) {
      expect(await names()).toEqual(refusing)
      await host.replaceMember(of.id, 1).catch((error: Error) => told.push(error.message))
      await playPods(hub.admin, namespace, { away: [2] })
    }
    expect(told.join(' | ')).toMatch(/member remove.*member add.*volume claim data-etcd-2 is made.*may start/)
    expect(await names()).toEqual(members)
    await look({ away: [2] })
    expect(await names()).toEqual(members)

    await look()
    expect(await host.replaceMember(of.id, 1)).toBe('Done')
    await look()
    expect(await names()).toEqual(refusing)
    expect(await set()).toBe(before)
    await removed(host, of)
  },
  SLOW_MS,
)

test(
  'an idle control plane costs no writes, and what a person changed is set right with one',
  async () => {
    const written: string[] = []
    const host = hostOn(
      new Proxy<KubeClient>(hub.program, {
        get: (target, name: keyof KubeClient) => {
          const method = (target[name] as (...args: readonly unknown[]) => Promise<unknown>).bind(target)
          if (!['create', 'update', 'apply', 'patch', 'delete'].includes(name)) return method
          return (...args: readonly unknown[]) => {
            written.push(`${name} ${(args[0] as { readonly kind: string }).kind}`)
            return method(...args)
          }
        },
      }),
    )
    const of = request('idle')
    await settled(host, of)
    // What its pods reported since the last apply is one more version of a workload.
    await host.put(of)
    written.length = 0
    await host.put(of)
    expect(written).toEqual([])
    const [type, key] = [
      kinds[0] as (typeof kinds)[number],
      { namespace: planeNamespace(of.id), name: 'kube-scheduler' },
    ]
    await hub.admin.patch(type, key, { type: 'merge', value: { spec: { replicas: 0 } } })
    await host.put(of)
    expect(written).toContain('apply Deployment')
    expect(await hub.admin.get(type, key)).toMatchObject({ spec: { replicas: 1 } })
    await hub.admin.delete(type, key)
    await host.put(of)
    expect(await hub.admin.get(type, key)).toMatchObject({ spec: { replicas: 1 } })
    expect(written.filter((w) => w.startsWith('apply'))).toEqual(['apply Deployment', 'apply Deployment'])
  },
  SLOW_MS,
)

test.each([
  ['before', () => false],
  ['after', () => true],
])(
  'a controller that is killed %s each write makes the same objects, with one authority',
  async (when, isAfter) => {
    const [whole, cut] = [request(`whole-${when}`), request(`cut-${when}`)]
    await settled(hostOn(hub.program), whole)
    // Before it is whole no call lives.
    const hosts: HostsOfCalls = (call) => killed(isAfter)(2 * call)
    const plane = await settled(hosts, cut)
    expect(await contentOf(planeNamespace(cut.id))).toEqual(await contentOf(planeNamespace(whole.id)))
    expect((await hostOn(hub.program).get(cut.id))?.ca).toBe(plane.ca)
  },
  SLOW_MS,
)

test(
  'an upgrade that is cut off again and again passes its edge with an opened snapshot, and goes back over it only with the approval',
  async () => {
    const of = request('up')
    await settled(hostOn(hub.program), of)
    const up = request('up', '1.36.2')
    const plane = await settled(
      killed((call) => call % 4 === 0),
      up,
    )
    const [snapshot] = plane.snapshots
    expect(snapshot).toMatchObject({ version: '1.35.9', objects: 7, revision: 42 })
    const host = hostOn(hub.program)
    expect(await host.put(of)).toMatchObject({ kind: 'Refused', reason: 'UpgradeRefused' })
    expect((await host.get(of.id))?.version).toBe('1.36.2')
    const approved = { ...of, upgrade: { soakMs: 0, walksMinors: false, approvedRestore: snapshot?.name ?? '' } }
    expect(await settled(host, approved)).toMatchObject({ version: '1.35.9', state: 'Running' })
  },
  SLOW_MS,
)

test(
  'a snapshot is of a member that serves, whichever member is away, and waits while none serves',
  async () => {
    const of = request('members', '1.35.9', { shape: { etcd: { members: 3, storage: '1Gi' } } })
    const host = hostOn(hub.program, { withinMs: 0 })
    await settled(host, of)
    const namespace = planeNamespace(of.id)
    const endpoints = async (away: readonly number[], name: string): Promise<readonly string[]> => {
      await playPods(hub.admin, namespace, { away, holdsJobs: () => true })
      await expect(host.snapshot(of.id, name)).rejects.toThrow(/still waiting/)
      const jobs = (await hub.admin.list(JOBS, { namespace })).items
      await playPods(hub.admin, namespace)
      return jobs.flatMap(({ spec }) => JSON.stringify(spec).match(/--endpoints=[^"]*/g) ?? [])
    }
    // A person made it larger than it is asked for.
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '9Gi' } } }
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'snapshots', namespace }, spec }
    await hub.admin.create(CLAIMS, claim)
    const url = (n: number): string => `--endpoints=https://etcd-${n}.etcd.${namespace}.svc:2379`
    expect(await endpoints([0], 'one')).toEqual([url(1)])
    expect(await host.snapshot(of.id, 'one')).toMatchObject({ objects: 7 })
    expect(await endpoints([0, 1, 2], 'two')).toEqual([])
    expect(await endpoints([1, 2], 'two')).toEqual([url(0)])
    expect(await hub.admin.get(CLAIMS, { namespace, name: 'snapshots' })).toMatchObject({ spec })
  },
  SLOW_MS,
)

test.each([
  ['without a key', '{"hash":1,"revision":1,"totalKey":0,"totalSize":4096}'],
  ['that was not read', 'Error: snapshot file is empty'],
])(
  'a snapshot %s is not one that was opened',
  async (what, log) => {
    const of = request(`unopened-${what.replaceAll(' ', '-')}`)
    await settled(hostOn(hub.program), of)
    const host = hostOn(hub.program, { withinMs: 0, readLog: async () => log })
    await expect(host.snapshot(of.id, 'one')).rejects.toThrow(/still waiting/)
    await playPods(hub.admin, planeNamespace(of.id))
    await expect(host.snapshot(of.id, 'one')).rejects.toThrow('did not report what is in the snapshot')
    expect((await host.get(of.id))?.snapshots).toEqual([])
  },
  SLOW_MS,
)

test(
  'before the edge the old programs return with the old version, and no snapshot is restored',
  async (context) => {
    onlyInFull(context)
    const of = request('back')
    const host = hostOn(hub.program)
    await settled(host, of)
    const slow = { ...request('back', '1.36.2'), upgrade: { soakMs: 3_600_000, walksMinors: false } }
    let plane: ControlPlane | undefined
    for (let calls = 0; calls < 60 && !/soak/.test(plane?.change?.message ?? ''); calls++) {
      const result = await host.put(slow)
      plane = result.kind === 'Plane' ? result.plane : undefined
      await playPods(hub.admin, planeNamespace(of.id))
    }
    expect(plane).toMatchObject({ version: '1.35.9', change: { from: '1.35.9', to: '1.36.2', wayBack: 'Programs' } })
    expect(await settled(host, of)).toMatchObject({ version: '1.35.9', snapshots: [] })
  },
  SLOW_MS,
)

test(
  'a snapshot that a deletion kept ends after a week by the clock of the hub too, never by that of the host alone',
  async () => {
    const of = request('week')
    await settled(hostOn(hub.program), of)
    const records = new PlaneRecords(hub.admin, 'test')
    const kept = await records.read(of.id)
    if (kept === undefined || kept === 'Taken') throw new Error('it has no record')
    const DAY_MS = 86_400_000
    for (const [id, until] of [
      ['fleet.of-today', Date.now() + DAY_MS],
      ['fleet.of-last-week', Date.now() - DAY_MS],
    ] as const)
      await records.create(emptied({ ...kept.record, id }, 'final', { keptUntil: until }), namespaceLabels(id))
    const ahead = hostOn(hub.program, { clock: { ...systemClock, now: () => Date.now() + 8 * DAY_MS } })
    expect(await removed(ahead, of)).toBe('Deleted')
    const isThere = async (id: string) => {
      const namespace = await hub.admin.get(NAMESPACES, { name: planeNamespace(id) })
      return namespace !== undefined && namespace.metadata.deletionTimestamp === undefined
    }
    expect([await isThere('fleet.of-today'), await isThere('fleet.of-last-week')]).toEqual([true, false])
    await hub.admin.delete(NAMESPACES, { name: planeNamespace('fleet.of-today') })
  },
  SLOW_MS,
)

test(
  'no other key is made in place of one that a kept snapshot needs and a person deleted',
  async () => {
    const of = request('keyless')
    const host = hostOn(hub.program)
    await settled(host, of)
    const records = new PlaneRecords(hub.admin, 'test')
    const kept = await records.read(of.id)
    if (kept === undefined || kept === 'Taken') throw new Error('it has no record')
    const final = { name: 'final', slot: 0, version: '1.35.9', takenAt: '2030-01-01T00:00:00Z' }
    await records.write(kept, { ...kept.record, snapshots: [final as PlaneRecord['snapshots'][number]] })
    expect(await removed(host, of, 'final')).toBe('Deleted')
    const key = { namespace: planeNamespace(of.id), name: 'credentials-encryption' }
    const secret = await hub.admin.get(SECRETS, key)
    await hub.admin.delete(SECRETS, key)
    for (let passes = 0; passes < 3; passes++) {
      const result = await host.put(of)
      expect(result.kind === 'Plane' ? result.plane.message : result.message).toMatch(
        /^Secret credentials-encryption, with which Secrets in snapshot final are encrypted, is missing or damaged; restore it/,
      )
    }
    const { uid: _u, resourceVersion: _r, ...metadata } = secret?.metadata ?? {}
    await hub.admin.create(SECRETS, { ...secret, metadata } as KubeObject)
    await settled(host, of)
    expect(await hub.admin.get(SECRETS, key)).toMatchObject({ data: secret?.['data'] })
    expect(await removed(host, of)).toBe('Deleted')
  },
  SLOW_MS,
)

describe('bad input', () => {
  test(
    'a version file that loses the row of a version that runs changes nothing of it, and is the reason that nothing can be changed',
    async () => {
      const of = request('rowless')
      const plane = await settled(hostOn(hub.program), of)
      const lost = hostOn(hub.program, { versions: () => REAL_VERSIONS.filter((r) => r.version !== '1.35.9') })
      const message = 'the version file lacks a version that runs: put its row back'
      const { endpoint, ca } = plane
      expect(await lost.get(of.id)).toMatchObject({ state: 'Running', version: '1.35.9', endpoint, ca, message })
      expect(await lost.put(of)).toMatchObject({ kind: 'Refused', reason: 'VersionNotServed' })
      expect(await lost.put(request('rowless', '1.36.2'))).toEqual({
        kind: 'Refused',
        reason: 'UpgradeRefused',
        message,
      })
      await expect(lost.snapshot(of.id, 'one')).rejects.toThrow(message)
      expect(await settled(hostOn(hub.program), of)).toMatchObject({ state: 'Running', endpoint, ca })
      expect(await removed(lost, of)).toBe('Deleted')
    },
    SLOW_MS,
  )

  test(
    'the certificates of a control plane are renewed also while the version file lacks its row',
    async () => {
      const of = request('renewed')
      await settled(hostOn(hub.program), of)
      const versions = () => REAL_VERSIONS.filter((r) => r.version !== '1.35.9')
      const contents = async () => {
        const { items } = await hub.admin.list(SECRETS, { namespace: planeNamespace(of.id) })
        return Object.fromEntries(items.map((s) => [s.metadata.name ?? '', JSON.stringify(s['data'])]))
      }
      const later = (days: number) => hostOn(hub.program, { versions, clock: laterBy(days) })
      const before = await contents()
      await later(10).put(of)
      expect(await contents()).toEqual(before)
      // A certificate is valid for 90 days, and renewed after 60.
      expect(await later(70).put(of)).toMatchObject({ kind: 'Refused', reason: 'VersionNotServed' })
      const renewed = await contents()
      const isOther = (name: string) => renewed[name] !== before[name]
      expect(
        ['credentials-apiserver', 'credentials-hub', 'credentials-kubeconfig-hub', 'credentials-ca'].map(isOther),
      ).toEqual([true, true, true, false])
      await later(140).put(request('renewed', '1.36.2'))
      expect((await contents())['credentials-apiserver']).not.toBe(renewed['credentials-apiserver'])
      expect(await removed(hostOn(hub.program), of)).toBe('Deleted')
    },
    SLOW_MS,
  )

  test('a version that is not in the file is refused with those that are', async () => {
    expect(await hostOn(hub.program).put(request('unknown', '1.30.0'))).toMatchObject({
      reason: 'VersionNotServed',
      message: 'version 1.30.0 is not in the version file; it has 1.36.2, 1.35.9',
    })
    expect(await hub.admin.get(NAMESPACES, { name: planeNamespace('fleet.unknown') })).toBeUndefined()
  })

  test('a namespace that a person made is left alone', async () => {
    const metadata = { name: planeNamespace('fleet.taken') }
    await hub.admin.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata })
    expect(await hostOn(hub.program).put(request('taken'))).toMatchObject({ reason: 'NamespaceTaken' })
    expect(await hostOn(hub.program).get('fleet.taken')).toBeUndefined()
  })

  test(
    'a version that could not go back, and one whose etcd skips a minor, are refused before anything begins',
    async () => {
      const of = request('one-way')
      await settled(hostOn(hub.program), of)
      const namespace = planeNamespace(of.id)
      const recordOf = async () => (await hub.admin.get(NAMESPACES, { name: namespace }))?.metadata.resourceVersion
      const before = await recordOf()
      const withRow = (more: object) =>
        hostOn(hub.program, {
          versions: () => REAL_VERSIONS.map((r) => (r.version === '1.36.2' ? { ...r, ...more } : r)),
        })
      for (const [more, message] of [
        [{ emulatesFrom: 36 }, '1.36.2 can emulate 1.36 and later, not 1.35: there would be no way back'],
        [{ etcd: '3.7.0' }, 'etcd 3.5.30 to 3.7.0 skips a minor of etcd'],
      ] as const)
        expect(await withRow(more).put(request('one-way', '1.36.2'))).toEqual({
          kind: 'Refused',
          reason: 'UpgradeRefused',
          message,
        })
      expect(await recordOf()).toBe(before)
      expect((await hostOn(hub.program).get(of.id))?.change).toBeUndefined()
    },
    SLOW_MS,
  )

  test(
    'what speaks against an upgrade is listed, and nothing begins',
    async () => {
      const host = hostOn(hub.program, {
        readings: async () => ({
          ...ALL_WELL,
          etcd: { known: true, value: { isHealthy: true, usedOfQuota: 0.9 } },
          deafWebhooks: { known: false, why: 'connection refused' },
        }),
      })
      await settled(host, request('listed'))
      expect(await host.put(request('listed', '1.36.2'))).toMatchObject({
        reason: 'UpgradeRefused',
        message: expect.stringMatching(/webhooks cannot be read: connection refused.*90 % of its quota/),
      })
      expect((await host.get('fleet.listed'))?.change).toBeUndefined()
    },
    SLOW_MS,
  )
})
