// A control plane whose store and API servers are a model, for drivers that need many rounds: API servers read their keys when they start and are replaced one by one,
// every Secret of the store has the key that sealed it, snapshots are files by slot. At every moment each API server must be able to read all of the store.
import { planeNamespace, PlaneRecords } from '#controlplanes/kubernetes/plane-record.ts'
import { KubernetesHost } from '#controlplanes/kubernetes/host.ts'
import { typeOf } from '#controlplanes/kubernetes/plane-objects.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { Clock } from '#lib/clock.ts'
import { seededRandom } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { asLeader } from '#test/support/servers/as-leader.ts'
import { ALL_WELL } from './kubernetes-host-world.ts'
import { FAULTED_ID, type FaultedWorld } from './plane-faults.ts'
import { OPENED_LOG, playPods } from './played-pods.ts'

const BEGINS = Date.UTC(2030, 0, 1)
const SERVERS = 2
/** Real programs take longer for a pass than a model: a wait of minutes has fewer passes. */
const SLOWLY = 10
/** In a row: what is tried again after minutes must end. */
const MOST_FAILURES = 2
const NAMESPACE = planeNamespace(FAULTED_ID)
const [SECRETS, JOBS] = [coreKind('Secret'), coreKind('Job')]
const [DEPLOYMENTS, SETS] = ['Deployment', 'StatefulSet'].map((kind) => typeOf({ apiVersion: 'apps/v1', kind })) as [
  ReturnType<typeof typeOf>,
  ReturnType<typeof typeOf>,
]
const KINDS = [
  { type: JOBS, status: true },
  { type: coreKind('PersistentVolumeClaim'), status: true },
  { type: typeOf({ apiVersion: 'v1', kind: 'ResourceQuota' }), status: true },
  { type: typeOf({ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' }) },
]

/** A key is what it is, not the number that it has. */
interface Key {
  readonly name: string
  readonly secret: string
}
interface Server {
  readonly template: string
  /** The first one seals. */
  readonly keys: readonly Key[]
}
interface Sealed {
  readonly value: string
  readonly key: Key
}
type Store = Map<string, Sealed>

export function modeledPlane(seed: number): FaultedWorld {
  const random = seededRandom(seed)
  let passedMs = 0
  let playing: Promise<void> | undefined
  const clock: Clock = {
    now: () => BEGINS + passedMs,
    monotonic: () => passedMs,
    after: () => ({ cancel: () => undefined }),
    sleep: async (ms) => {
      passedMs += SLOWLY * ms
      await (playing ??= play().finally(() => (playing = undefined)))
    },
  }
  const kube = new FakeKube({ clock, random, kinds: KINDS, bookmarkEveryMs: 0 })
  const hub = kube.client({ actor: 'hub' })
  const records = new PlaneRecords(hub, 'model')

  let store: Store = new Map()
  const files = new Map<number, Store>()
  const done = new Set<string>()
  let servers: Server[] = []
  let failures = 0
  let problem: string | undefined

  async function started(template: string): Promise<readonly Server[]> {
    const keys = await keysOf(hub)
    return keys === undefined ? [] : [{ template, keys }]
  }

  /** One at a time, and not always at once. */
  async function rollServers(deployment: KubeObject | undefined): Promise<void> {
    const { replicas = 0, template } = (deployment?.['spec'] ?? {}) as { readonly replicas?: number; template?: object }
    const wanted = JSON.stringify(template)
    servers = servers.slice(0, replicas)
    if (servers.length < replicas) servers.push(...(await started(wanted)))
    const stale = servers.findIndex((server) => server.template !== wanted)
    if (stale < 0 || random.below(2) === 0) return
    const [next] = await started(wanted)
    if (next !== undefined) servers[stale] = next
  }

  async function playJobs(): Promise<void> {
    const kept = await records.read(FAULTED_ID)
    if (kept === undefined || kept === 'Taken') return
    const { taking, restoring } = kept.record
    for (const { metadata } of (await hub.list(JOBS, { namespace: NAMESPACE })).items) {
      const { name = '', uid = '' } = metadata
      if (done.has(uid)) continue
      done.add(uid)
      if (name.startsWith('snapshot-') && taking !== undefined) files.set(taking.slot, new Map(store))
      if (!name.startsWith('restore-') || restoring === undefined) continue
      if (servers.length > 0) problem ??= 'a snapshot is restored while API servers run'
      const file = files.get(restoring.slot)
      if (file === undefined) problem ??= `slot ${restoring.slot} has no file`
      store = new Map(file)
    }
  }

  async function play(): Promise<void> {
    if ((await hub.get(SETS, { namespace: NAMESPACE, name: 'etcd' })) === undefined) store = new Map()
    const deployment = await hub.get(DEPLOYMENTS, { namespace: NAMESPACE, name: 'kube-apiserver' })
    await rollServers(deployment)
    await playJobs()
    // Programs of the cluster write all the time.
    const [[name, sealed] = []] = [...store].slice(random.below(Math.max(1, store.size)))
    if (name !== undefined && sealed !== undefined && servers.length > 0) seal(name, sealed.value)
    check()
    const wanted = JSON.stringify((deployment?.['spec'] as { readonly template?: object } | undefined)?.template)
    const status = {
      replicas: servers.length,
      readyReplicas: servers.length,
      availableReplicas: servers.length,
      updatedReplicas: servers.filter(({ template }) => template === wanted).length,
    }
    const statusOf = ({ metadata }: KubeObject) => (metadata.name === 'kube-apiserver' ? status : undefined)
    await playPods(hub, NAMESPACE, { statusOf }).catch(() => undefined)
  }

  function check(): void {
    for (const { keys } of servers)
      for (const [name, { key }] of store)
        if (keys.every((k) => k.secret !== key.secret))
          problem ??= `an API server with ${keys.map((k) => k.name).join(', ')} cannot read ${name}, which ${key.name} sealed`
  }

  const anyServer = (): Server => {
    const server = servers[random.below(Math.max(1, servers.length))]
    if (server === undefined) throw new Error('no API server')
    return server
  }

  function seal(name: string, value: string): void {
    const [key] = anyServer().keys
    if (key === undefined) throw new Error('it has no key')
    store.set(name, { value, key })
    check()
  }

  return {
    hub,
    clock,
    shape: {
      replicas: SERVERS,
      etcd: { members: 1, storage: '1Gi' },
      endpoint: { type: 'LoadBalancer', host: 'api.test' },
    },
    host: ({ client, ...more }) =>
      new KubernetesHost({
        client: asLeader(client),
        fieldManager: FIELD_MANAGERS.cluster,
        readLog: async () => OPENED_LOG,
        readings: async () => ALL_WELL,
        sealAgain: async () => {
          // A server that ends in the middle, or a webhook that refuses some.
          const isWhole = failures >= MOST_FAILURES || random.below(4) > 0
          failures = isWhole ? 0 : failures + 1
          for (const [name, { value }] of store) if (isWhole || random.below(2) === 0) seal(name, value)
          return isWhole ? { failed: [] } : { failed: ['default/one'], why: 'a webhook refuses it' }
        },
        ...more,
      }),
    read: async () => {
      anyServer()
      return Object.fromEntries([...store].map(([name, { value }]) => [name, value]))
    },
    write: async (_, name, value) => seal(name, value),
    keysInStore: async () => [...new Set([...store.values()].map(({ key }) => key.name))].toSorted(),
    running: () => servers.map((_, n) => `kube-apiserver-${n}`),
    mustBeSound: (told) => {
      if (problem !== undefined) throw new Error(`${problem}\n${told()}`)
    },
    tail: () => `seed ${seed}; servers ${JSON.stringify(servers.map(({ keys }) => keys.map((k) => k.name)))}`,
  }
}

/** Undefined while the Secret is missing: the pod waits for it. */
async function keysOf(hub: KubeClient): Promise<readonly Key[] | undefined> {
  const secret = await hub.get(SECRETS, { namespace: NAMESPACE, name: 'encryption' })
  const text = (secret?.['data'] as { readonly 'config.yaml'?: string } | undefined)?.['config.yaml']
  if (text === undefined) return undefined
  const { resources } = JSON.parse(Buffer.from(text, 'base64').toString()) as {
    readonly resources: readonly [{ readonly providers: readonly { readonly secretbox?: { readonly keys: Key[] } }[] }]
  }
  return resources[0].providers.flatMap(({ secretbox }) => secretbox?.keys ?? [])
}
