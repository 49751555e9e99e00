// A hub that is its own member: two targets of one source write one cluster. Neither deletes the other's objects, and everything that git removed is deleted.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { coreKind } from '#kube/core-kinds.ts'
import { KINDS } from '#api/kinds.ts'
import { cluster } from '#api/kinds/cluster.ts'
import { inventory, type Inventory } from '#api/kinds/inventory.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { seededRandom } from '#lib/random.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import type { ClusterConnection } from '#delivery/connection.ts'
import { refOf, refText } from '#delivery/object-ref.ts'
import type { TargetKind } from '#delivery/targets.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { isFull } from '#test/support/tools/full.ts'
import { VIRTUAL_EPOCH_MS, VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { type ApplyOrder, applyToCluster } from './apply.ts'

const CONFIG_MAP = coreKind('ConfigMap')
const SELF = 'self'

const api = 'kubenode.io/v1alpha1'
const aCluster = (name: string): KubeObject => ({
  apiVersion: api,
  kind: 'Cluster',
  metadata: { name, namespace: 'fleet' },
  spec: { ...cluster.example.spec },
})
const aSet = (name: string): KubeObject => ({
  apiVersion: api,
  kind: 'MachineComponentSet',
  metadata: { name },
  spec: { ...machineComponentSet.example.spec },
})
const aConfig = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'fleet' },
  data: { of: name },
})

type Part = readonly KubeObject[]
interface Commit {
  readonly hub: Part
  readonly member: Part
}

const names = (part: Part) => new Set(part.map((o) => refText(refOf(o))))
const id = (n: number) => String(n).padStart(40, '0')

function world() {
  const kinds = KINDS.map((type) => ({ type, schema: type.schema, status: type.definition.status !== undefined }))
  const fake = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1), kinds })
  const client = fake.client({ actor: 'sync' })
  const served = [...KINDS, CONFIG_MAP]
  const find = async (_: string, kind: string) => served.find((k) => k.kind === kind)
  const connection = {
    name: SELF,
    client,
    program: client,
    types: { of: find, ofGroup: find },
  } as unknown as ClusterConnection
  const pass = (target: TargetKind, commit: Commit, n = 1, more: Partial<ApplyOrder> = {}) => {
    const part = target === 'Hub' ? commit.hub : commit.member
    return applyToCluster(connection, {
      target: {
        objects: part.map((object) => ({ ref: refOf(object), object, digest: sha256OfJson(object) })),
        rejected: [],
      },
      owner: {
        source: 'kubenode-system/fleet',
        track: 'main',
        target,
        ...(target === 'Member' && { cluster: SELF }),
      },
      mark: {
        commit: id(n),
        release: target === 'Hub' ? undefined : `main-${n}`,
        appliedAt: new Date(VIRTUAL_EPOCH_MS).toISOString(),
      },
      config: { commit: id(n), prune: { enabled: true, guard: '100%' }, drift: 'Correct' },
      declaredIn: (name) => names(name === undefined ? commit.hub : name === SELF ? commit.member : []),
      elsewhere: new Set(),
      approved: new Set(),
      needs: { machines: false, repairs: false },
      ...more,
    })
  }
  const live = async () =>
    [cluster, machineComponentSet, CONFIG_MAP].map(async (type) =>
      (await client.list<KubeObject>(type)).items
        .filter((o) => o.metadata.namespace !== 'kube-system')
        .map((o) => refText(refOf({ ...o, apiVersion: type === CONFIG_MAP ? 'v1' : api, kind: type.kind }))),
    )
  const there = async () => new Set((await Promise.all(await live())).flat())
  const shards = async () => (await client.list(inventory)).items
  /** An older release did not tell targets apart: one Inventory for both, in the state of the last pass. */
  const older = async (commit: Commit, last: TargetKind, beside: Part = []) => {
    for (const target of ['Hub', 'Member'] as const) await pass(target, commit)
    const all = await shards()
    for (const { metadata } of all) await client.delete(inventory, { name: metadata.name ?? '' })
    for (const object of beside) await pass('Hub', { ...commit, hub: [...commit.hub, object] })
    const refs = [...all, ...(await shards())].flatMap((s) => s.spec.refs)
    for (const { metadata } of await shards()) await client.delete(inventory, { name: metadata.name ?? '' })
    const unique = [...new Map(refs.map((r) => [refText(r), r])).values()]
    const spec = {
      source: 'kubenode-system/fleet',
      track: 'main',
      shard: 0,
      shards: 1,
      commit: id(1),
      ...(last === 'Member' && { release: 'main-1' }),
      ...(commit.member.length > 0 && { baseline: BASELINE }),
      refs: unique,
    }
    const shard = { apiVersion: api, kind: 'Inventory', metadata: { name: 'kubenode-system.fleet.main.0' }, spec }
    await client.apply(inventory, shard, { fieldManager: 'kubenode-sync', force: true })
  }
  return { pass, there, shards, older, client }
}

const BASELINE = {
  release: 'main-1',
  takenAt: new Date(VIRTUAL_EPOCH_MS).toISOString(),
  failing: [],
  blamed: [],
  changes: [],
}

const listed = (shards: readonly Inventory[], target: TargetKind | undefined) =>
  new Set(shards.filter((s) => s.spec.target === target).flatMap((s) => s.spec.refs.map(refText)))

const TARGETS = ['Hub', 'Member'] as const
const both: Commit = { hub: [aCluster(SELF), aConfig('hub')], member: [aSet('base'), aConfig('member')] }
const all = (commit: Commit) => new Set([...names(commit.hub), ...names(commit.member)])

describe('a hub that is its own member', () => {
  test('has an Inventory for each target, and neither deletes or holds what the other declares', async () => {
    const w = world()
    for (let round = 0; round < 2; round++)
      for (const target of TARGETS) {
        const { plan } = await w.pass(target, both)
        expect([plan?.blocked, plan?.operations.filter((o) => o.kind === 'Delete')]).toEqual([undefined, []])
      }
    expect(await w.there()).toEqual(all(both))
    const shards = await w.shards()
    expect(shards.map((s) => [s.metadata.name, s.spec.cluster])).toEqual([
      ['kubenode-system.fleet.main.hub-0', undefined],
      ['kubenode-system.fleet.main.member-0', SELF],
    ])
    expect([listed(shards, 'Hub'), listed(shards, 'Member')]).toEqual([names(both.hub), names(both.member)])
  })

  test.each([
    ['Hub', 'Member'],
    ['Member', 'Hub'],
  ] as const)('moves an object from %s to %s without deleting it', async (from, to) => {
    const w = world()
    const moved = aConfig('moved')
    const at = (target: TargetKind): Commit => ({
      hub: [...both.hub, ...(target === 'Hub' ? [moved] : [])],
      member: [...both.member, ...(target === 'Member' ? [moved] : [])],
    })
    for (const target of TARGETS) await w.pass(target, at(from))
    const uid = (await w.client.get(CONFIG_MAP, { namespace: 'fleet', name: 'moved' }))?.metadata.uid
    for (const target of [from, to, from, to]) await w.pass(target, at(to), 2)
    const now = (await w.client.get(CONFIG_MAP, { namespace: 'fleet', name: 'moved' }))?.metadata.uid
    expect([now, uid !== undefined]).toEqual([uid, true])
    const shards = await w.shards()
    expect([from, to].map((t) => listed(shards, t).has('ConfigMap/fleet/moved'))).toEqual([false, true])
  })
})

describe('a cluster that a commit registers under another name', () => {
  const as = (cluster: string) => ({
    owner: { source: 'kubenode-system/fleet', track: 'main', target: 'Member' as const, cluster },
  })
  const before: Commit = { hub: [], member: [aSet('base'), aConfig('of-a'), aConfig('both')] }
  const after: Commit = { hub: [], member: [aSet('base'), aConfig('of-b'), aConfig('both')] }

  test('keeps what only the old name declares, as the plan says, and loses what the new name declared once', async () => {
    const w = world()
    await w.pass('Member', before, 1, as('a'))
    const { plan } = await w.pass('Member', after, 2, as('b'))
    expect(plan?.operations.filter((o) => o.kind === 'Delete')).toEqual([])
    expect(await w.there()).toEqual(new Set([...names(before.member), ...names(after.member)]))
    expect(listed(await w.shards(), 'Member')).toEqual(names(after.member))
    await w.pass('Member', { hub: [], member: [aSet('base')] }, 3, as('b'))
    expect(await w.there()).toEqual(names([aSet('base'), aConfig('of-a')]))
  })
})

describe('an Inventory of a release that kept one for both', () => {
  const orders = [
    ['Hub', 'Member'],
    ['Member', 'Hub'],
  ] as const
  const cases = orders.flatMap((order) => TARGETS.map((last) => [order[0], order[1], last] as const))
  test.each(cases)('is divided by %s, then %s, after %s wrote it last', async (first, second, last) => {
    const w = world()
    await w.older(both, last)
    // The hub follows the newest commit while the member is held at an older one.
    const newer: Commit = { ...both, hub: [aCluster(SELF), aCluster('new'), aConfig('hub')] }
    for (const target of [first, second, first, second]) {
      const { plan } = await w.pass(target, target === 'Hub' ? newer : both, 2)
      expect([target, plan?.operations.filter((o) => o.kind === 'Delete')]).toEqual([target, []])
    }
    expect(await w.there()).toEqual(all(newer))
    const shards = await w.shards()
    expect([listed(shards, 'Hub'), listed(shards, 'Member'), listed(shards, undefined)]).toEqual([
      names(newer.hub),
      names(both.member),
      new Set(),
    ])
    const own = shards.find((s) => s.spec.target === 'Member')?.spec
    expect([own?.baseline, shards.length]).toEqual([BASELINE, 2])
  })

  test.each(orders)('loses what git removed meanwhile to whom it was: %s first', async (first, second) => {
    const w = world()
    await w.older(both, 'Member', [aCluster('old')])
    const newer: Commit = { hub: both.hub, member: [aConfig('member')] }
    for (const target of [first, second, first, second]) await w.pass(target, newer, 2)
    expect(await w.there()).toEqual(all(newer))
    expect(listed(await w.shards(), undefined)).toEqual(new Set())
  })

  test.each(TARGETS)('belongs wholly to a cluster that is one of both, here a %s', async (target) => {
    const w = world()
    const mine: Commit = { hub: target === 'Hub' ? both.hub : [], member: target === 'Member' ? both.member : [] }
    await w.older(mine, target)
    const newer: Commit = { hub: mine.hub.slice(0, 1), member: mine.member.slice(0, 1) }
    const { plan } = await w.pass(target, newer, 2, { declaredIn: () => new Set() })
    expect(plan?.operations.map((o) => o.kind)).toEqual(['Delete'])
    expect(await w.there()).toEqual(all(newer))
    expect((await w.shards()).map((s) => s.spec.target)).toEqual([target])
  })
})

test('whatever git declares for either target, in whatever order they pass: nothing declared is deleted, nothing else stays', async () => {
  const objects = [aCluster('a'), aSet('b'), aConfig('c'), aConfig('d')]
  const part = fc.subarray(objects)
  // An object that both declare is in both Inventories.
  const commits = fc.array(
    fc.record({ hub: part, member: part, order: fc.array(fc.constantFrom(...TARGETS), { maxLength: 4 }) }),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  await fc.assert(
    fc.asyncProperty(commits, fc.option(fc.constantFrom(...TARGETS)), async (history, older) => {
      const w = world()
      const [start] = history
      if (older !== null && start !== undefined) await w.older(start, older)
      // Each target passes before anything moves: its empty Inventory shows that the cluster is both.
      for (const target of TARGETS) if (start !== undefined) await w.pass(target, start)
      for (const [n, commit] of history.entries())
        for (const target of [
          ...commit.order,
          ...(n === history.length - 1 ? [...TARGETS, ...TARGETS, ...TARGETS] : []),
        ]) {
          const before = await w.there()
          await w.pass(target, commit, n + 2)
          const after = await w.there()
          for (const key of all(commit)) if (before.has(key)) expect(after.has(key)).toBe(true)
        }
      const last = history.at(-1) ?? both
      expect(await w.there()).toEqual(all(last))
      const shards = await w.shards()
      expect([listed(shards, 'Hub'), listed(shards, 'Member'), listed(shards, undefined)]).toEqual([
        names(last.hub),
        names(last.member),
        new Set(),
      ])
    }),
    { numRuns: isFull ? 200 : 15 },
  )
})
