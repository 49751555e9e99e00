// Budgets of a hub: how many clusters are created at once, and how many are deleted in a while.
import { afterEach, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { defenderPolicy, type DefenderPolicy } from '#api/kinds/defender-policy.ts'
import { type ClusterWorld, clusterWorld } from '#test/support/worlds/cluster-world.ts'

let world: ClusterWorld | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

const policy = (w: ClusterWorld, name: string, spec: Partial<DefenderPolicy['spec']>) =>
  w.admin.apply(
    defenderPolicy,
    { apiVersion: API_GROUP_VERSION, kind: 'DefenderPolicy', metadata: { name }, spec },
    { fieldManager: 'git', force: true },
  )

test('with a limit of one, clusters are created one after the other, also beside one that cannot be created', async () => {
  const w = (world = await clusterWorld())
  await policy(w, 'creations', { clusters: { maxCreating: 1 } })
  await w.declare('never', { version: '1.1.0' })
  const names = ['a', 'b', 'c', 'd']
  for (const name of names) await w.declare(name)
  let hasWaited = false
  let most = 0
  const ready = new Set<string>()
  await w.until('all are Ready', async () => {
    for (const name of names) {
      const { status } = (await w.get(name)) ?? {}
      if (status?.waitingFor?.predicate === 'CreationLimit') hasWaited = true
      if (status?.phase === 'Ready') ready.add(name)
    }
    // The host is asked once for both: what was Ready before counts no longer.
    most = Math.max(most, (await w.host.list()).length - ready.size)
    return ready.size === names.length
  })
  expect(hasWaited).toBe(true)
  expect(most).toBeLessThanOrEqual(2)
  expect((await w.get('never'))?.status?.waitingFor?.predicate).toBe('VersionNotServed')
})

test('deletions beyond the rate of a policy wait with its usage, while an upgrade goes on', async () => {
  const w = (world = await clusterWorld())
  for (const name of ['a', 'b', 'c']) await w.declare(name, { version: '1.35.0' })
  for (const name of ['a', 'b', 'c']) await w.untilPhase(name, 'Ready')
  await policy(w, 'deletions', { operations: ['DeleteControlPlane'], rates: [{ window: '1h', max: 1, per: 'hub' }] })
  await w.remove('a')
  await w.untilGone('a')
  await w.remove('b')
  await w.until(
    'it waits for the rate',
    async () => (await w.get('b'))?.status?.waitingFor?.predicate === 'RateExceeded',
  )
  expect((await w.get('b'))?.status?.waitingFor?.seen).toMatch(/^rate limit: 1 in 1h used, next grant/)
  expect((await w.get('b'))?.status?.phase).toBe('Deleting')
  await w.declare('c', { version: '1.36.0' })
  await w.until('the upgrade', async () => (await w.get('c'))?.status?.versions?.[0]?.version === '1.36.0')
  expect(await w.get('b')).toBeDefined()
  await policy(w, 'deletions', { operations: ['DeleteControlPlane'], rates: [{ window: '1h', max: 10, per: 'hub' }] })
  await w.untilGone('b')
})
