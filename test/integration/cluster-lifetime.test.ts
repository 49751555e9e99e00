// Clusters with a time to live, from the object to the API server: with the shipped roles and policies, a Defender, and the real host.
import { afterEach, expect, test } from 'vitest'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { planeClient } from '#test/support/servers/plane-client.ts'
import { clusterWorld, foldersIn, type ClusterWorld } from '#test/support/worlds/cluster-world.ts'
import { ADMIN } from '#test/support/fleets/holds.ts'

let world: ClusterWorld | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

const HOUR = 3_600_000
const isStopped = async (w: ClusterWorld): Promise<boolean> => (await w.host.list())[0]?.state === 'Stopped'
const adminOf = async (w: ClusterWorld) => {
  const identity = { user: 'test', groups: ['system:masters'], lifeMs: HOUR }
  return planeClient((await w.host.kubeconfig(`${SYSTEM_NAMESPACE}.one`, identity)) ?? '')
}

test('a Cluster of git is stopped at its end and stays, an extension and a longer time bring it back with its data, and its deletion leaves nothing', async () => {
  const w = (world = await clusterWorld())
  await w.declare('one', { ttl: '1h' }, true)
  const { metadata, status } = await w.untilPhase('one', 'Ready')
  expect(status?.expiresAt).toBe(timestamp(Date.parse(metadata.creationTimestamp ?? '') + HOUR))
  expect(status?.conditions?.find((c) => c.type === 'Expiring')).toMatchObject({ status: 'False' })
  const client = await adminOf(w)
  await client.write('value', 'kept')
  client.close()

  await w.declare('one', { ttl: '1ms' }, true)
  const expired = await w.untilPhase('one', 'Expired')
  expect(expired.status?.conditions?.find((c) => c.type === 'Expiring')).toMatchObject({ reason: 'LifetimeOver' })
  expect(await isStopped(w)).toBe(true)

  const until = timestamp(systemClock.now() + HOUR)
  await w.admin.create(operationalHold, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationalHold',
    metadata: { name: 'longer' },
    spec: {
      target: { kind: 'Cluster', name: 'one', namespace: SYSTEM_NAMESPACE },
      effect: 'Extend',
      reason: 'a test',
      author: ADMIN,
      until,
    },
  })
  expect((await w.untilPhase('one', 'Ready')).status?.expiresAt).toBe(until)
  expect(await isStopped(w)).toBe(false)
  await w.admin.delete(operationalHold, { name: 'longer' })
  await w.untilPhase('one', 'Expired')

  await w.declare('one', { ttl: '1h' }, true)
  await w.untilPhase('one', 'Ready')
  const again = await adminOf(w)
  expect(await again.read('value')).toBe('kept')
  again.close()

  await w.declare('one', { ttl: '1ms' }, true)
  await w.untilPhase('one', 'Expired')
  await w.remove('one')
  await w.untilGone('one')
  expect(foldersIn(w)).toEqual([])
})

test('a Cluster that git does not declare is deleted at its end with all that belongs to it', async () => {
  const w = (world = await clusterWorld())
  await w.declare('one', { ttl: '1h' })
  await w.untilPhase('one', 'Ready')
  await w.declare('one', { ttl: '1ms' })
  await w.untilGone('one')
  expect(foldersIn(w)).toEqual([])
})
