import { expect, test } from 'vitest'
import { systemClock } from '#lib/clock.ts'
import type { KubeObject } from '#schema/object.ts'
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
