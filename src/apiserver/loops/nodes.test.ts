import { expect, test } from 'vitest'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { encodedAt, storeObject } from '../storage/internal-write.ts'
import { memoryStorage } from '../storage/memory.ts'
import { Store } from '../storage/store.ts'
import { NodeWatch } from './nodes.ts'

const at = (i: number) => ({ resource: '/nodes', namespace: '', name: `node-${i}` })
const node = (i: number, ready: 'True' | 'False'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: at(i).name, creationTimestamp: new Date().toISOString() },
  spec: { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] },
  status: { conditions: [{ type: 'Ready', status: ready, lastHeartbeatTime: new Date().toISOString() }] },
})

async function fleet(size: number) {
  const backend = memoryStorage()
  let commits = 0
  const store = new Store({ ...backend, commit: (changes) => (commits++, backend.commit(changes)) })
  await Promise.all(Array.from({ length: size }, (_, i) => store.put(at(i), undefined, encodedAt(node(i, 'True')))))
  const watch = new NodeWatch({ store, clock: systemClock })
  const look = async () => {
    const [before, revision] = [commits, store.revision]
    await watch.look()
    return { commits: commits - before, writes: store.revision - revision }
  }
  return { store, look }
}

test('a fleet that becomes ready is written in few commits, since every watcher gets each of them', async () => {
  const { look } = await fleet(100)
  expect(await look()).toEqual({ commits: 4, writes: 100 })
})

test('a look at nodes that need no change writes nothing, also when they have said something new', async () => {
  const { store, look } = await fleet(10)
  await look()
  expect(await look()).toEqual({ commits: 0, writes: 0 })
  await storeObject(store, at(3), (o) => ({ ...o, status: { ...(o['status'] as object), phase: 'new' } }))
  expect(await look()).toEqual({ commits: 0, writes: 0 })
})

test.each([
  ['of a server that was off for an hour, or got back the store of an hour ago', -3_600_000],
  ['whose clock is a minute late', -60_000],
])('a node %s becomes Unknown only after it said nothing new for 50 s', async (_, off) => {
  const clock = new VirtualClock()
  const store = new Store(memoryStorage())
  const said = (): KubeObject => {
    const condition = { type: 'Ready', status: 'True', lastHeartbeatTime: timestamp(clock.now() + off) }
    const { metadata, ...rest } = node(0, 'True')
    return {
      ...rest,
      metadata: { ...metadata, creationTimestamp: '2020-01-01T00:00:00Z' },
      status: { conditions: [condition] },
    }
  }
  await store.put(at(0), undefined, encodedAt(said()))
  const watch = new NodeWatch({ store, clock })
  const readyAfter = async (ms: number) => {
    await clock.advance(ms)
    await watch.look()
    const status = store.get(at(0))?.value['status'] as { conditions: readonly { status: string }[] } | undefined
    return status?.conditions[0]?.status
  }
  expect(await readyAfter(0)).toBe('True')
  expect(await readyAfter(45_000)).toBe('True')
  await storeObject(store, at(0), said)
  expect(await readyAfter(1_000)).toBe('True')
  expect(await readyAfter(45_000)).toBe('True')
  expect(await readyAfter(10_000)).toBe('Unknown')
})

const leaseOf = (i: number, renewTime: string): KubeObject => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: at(i).name, namespace: 'kube-node-lease' },
  spec: { renewTime },
})

test.each<[string, (round: number) => number]>([
  ['is an hour late', () => -3_600_000],
  ['steps back by an hour', (round) => (round < 3 ? 0 : -3_600_000)],
  ['steps back with each renewal', (round) => -20_000 * round],
  ['is an hour ahead', () => 3_600_000],
])(
  'a node whose clock %s is heard while its Lease is renewed, and Unknown 50 s after the last renewal',
  async (_, off) => {
    const clock = new VirtualClock()
    const store = new Store(memoryStorage())
    const place = { resource: 'coordination.k8s.io/leases', namespace: 'kube-node-lease', name: at(0).name }
    const renew = (round: number) => leaseOf(0, timestamp(clock.now() + off(round)))
    const made = node(0, 'True')
    const metadata = { ...made.metadata, creationTimestamp: timestamp(clock.now()) }
    const condition = { type: 'Ready', status: 'True', lastHeartbeatTime: timestamp(clock.now() + off(0)) }
    await store.put(at(0), undefined, encodedAt({ ...made, metadata, status: { conditions: [condition] } }))
    await store.put(place, undefined, encodedAt(renew(0)))
    const watch = new NodeWatch({ store, clock })
    const lookAfter = async (ms: number) => {
      await clock.advance(ms)
      await watch.look()
      const { status, spec } = (store.get(at(0))?.value ?? {}) as {
        readonly status?: { readonly conditions: readonly { readonly status: string }[] }
        readonly spec?: { readonly taints?: readonly unknown[] }
      }
      return [status?.conditions[0]?.status, spec?.taints?.length ?? 0]
    }
    for (let round = 1; round <= 20; round++) {
      await storeObject(store, place, () => renew(round))
      expect(await lookAfter(10_000)).toEqual(['True', 0])
    }
    expect(await lookAfter(38_000)).toEqual(['True', 0])
    expect(await lookAfter(15_000)).toEqual(['Unknown', 2])
  },
)

test('a silent node among others that are heard is tainted for eviction, they are not, and it is well again once it is heard', async () => {
  const clock = new VirtualClock()
  const store = new Store(memoryStorage())
  const said = (i: number) => {
    const condition = { type: 'Ready', status: 'True', lastHeartbeatTime: timestamp(clock.now()) }
    return (o: KubeObject): KubeObject => ({ ...node(i, 'True'), spec: o['spec'], status: { conditions: [condition] } })
  }
  const taintsOf = (i: number) => {
    const { taints = [] } = (store.get(at(i))?.value['spec'] ?? {}) as {
      readonly taints?: readonly { readonly key: string; readonly effect: string }[]
    }
    return taints.map((t) => `${t.key}:${t.effect}`).toSorted((a, b) => a.localeCompare(b))
  }
  for (const i of [0, 1, 2]) await store.put(at(i), undefined, encodedAt(said(i)(node(i, 'True'))))
  const watch = new NodeWatch({ store, clock })
  const round = async (heard: readonly number[]) => {
    await clock.advance(30_000)
    for (const i of heard) await storeObject(store, at(i), said(i))
    await watch.look()
  }
  for (let n = 0; n < 3; n++) await round([1, 2])
  expect(taintsOf(0)).toEqual(['node.kubernetes.io/unreachable:NoExecute', 'node.kubernetes.io/unreachable:NoSchedule'])
  expect([taintsOf(1), taintsOf(2)]).toEqual([[], []])
  await round([0, 1, 2])
  expect(taintsOf(0)).toEqual([])
})
