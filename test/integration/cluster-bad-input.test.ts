// Clusters that cannot be what they declare: each says why with a reason, names what is in the way, and leaves the others alone.
import { afterEach, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { type ClusterWorld, clusterWorld, foldersIn } from '#test/support/worlds/cluster-world.ts'

let world: ClusterWorld | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

async function untilWaits(w: ClusterWorld, name: string, reason: string): Promise<Cluster> {
  let seen: Cluster | undefined
  await w.until(
    `${name} waits for ${reason}`,
    async () => (seen = await w.get(name))?.status?.waitingFor?.predicate === reason,
  )
  if (seen === undefined) throw new Error('unreachable')
  return seen
}

const embedded = (port: number) => ({ flavor: 'embedded' as const, endpoint: { port } })

test('of two Clusters with one endpoint the second names the first, and comes up once it has a port of its own', async () => {
  const w = (world = await clusterWorld())
  await w.declare('one')
  const port = Number(new URL((await w.untilPhase('one', 'Ready')).status?.endpoint ?? '').port)
  await w.declare('two', { controlPlane: embedded(port) })
  const { status } = await untilWaits(w, 'two', 'EndpointTaken')
  expect(status?.waitingFor?.seen).toBe(`port ${port} belongs to kubenode-system.one`)
  expect(status?.waitingFor?.unblock).toContain('a commit changes the Cluster')
  expect((await w.get('one'))?.status?.phase).toBe('Ready')
  await w.declare('two', { controlPlane: { flavor: 'embedded' } })
  expect((await w.untilPhase('two', 'Ready')).status?.waitingFor).toBeUndefined()
})

test('on a hub that is full a Cluster waits with the numbers, and comes up when another one is deleted', async () => {
  const w = (world = await clusterWorld({ most: 1 }))
  await w.declare('one')
  await w.untilPhase('one', 'Ready')
  await w.declare('two')
  const { status } = await untilWaits(w, 'two', 'HostFull')
  expect(status?.waitingFor?.seen).toBe('1 of 1 control planes are on this host; delete one first')
  expect(foldersIn(w)).toEqual(['kubenode-system.one'])
  await w.remove('one')
  await w.untilGone('one')
  await w.untilPhase('two', 'Ready')
})

test('a time to live of a second makes nothing, and the Cluster says that it is over', async () => {
  const w = (world = await clusterWorld())
  await w.declare('one', { ttl: '1ms' }, true)
  const { status } = await w.untilPhase('one', 'Expired')
  expect(status?.conditions?.find((c) => c.type === 'Expiring')).toMatchObject({ reason: 'LifetimeOver' })
  expect(foldersIn(w)).toEqual([])
  await w.remove('one')
  await w.untilGone('one')
})
