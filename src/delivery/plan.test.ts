import { sha256OfJson } from '#lib/sha256.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AGENT_CONFIG_MAP, agentConfigData } from '#api/agent-config/agent-config-map.ts'
import { contentOf } from '#api/protocol/committed.ts'
import { pruningDigest } from '#api/protocol/pruning.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type InventoryRef, refOf, refText } from './object-ref.ts'
import type { DesiredObject } from './desired.ts'
import { shortDigest } from './desired.ts'
import { refsAfter, refsBefore } from './inventory.ts'
import type { ClusterConfig, Live } from './diff.ts'
import { type Delete, isDelete, isWrite, type Write } from './operation.ts'
import { type ClusterPlan, type ClusterSeen, planCluster } from './plan.ts'
import { allowedPrunes, pruneDigest } from './prune-guard.ts'

const COMMIT = 'c'.repeat(40)
const SOURCE = 'fleet/own'
const EARLIER = 'e'.repeat(40)

const desired = (name: string, value = '1', kind = 'ConfigMap'): DesiredObject => {
  const object: KubeObject =
    kind === 'MachineComponent'
      ? { apiVersion: 'kubenode.io/v1alpha1', kind, metadata: { name }, spec: { value } }
      : { apiVersion: 'v1', kind, metadata: { name, namespace: 'default' }, data: { value } }
  return { ref: refOf(object), object, digest: sha256OfJson(object) }
}

const recorded = (d: DesiredObject, uid = `uid-${d.ref.name}`): InventoryRef => ({
  ...d.ref,
  uid,
  digest: shortDigest(d.digest),
})

const live = (name: string, more: Partial<Exclude<Live, string>> = {}): Live => ({
  uid: `uid-${name}`,
  resourceVersion: '7',
  commit: EARLIER,
  source: SOURCE,
  matches: true,
  isDeleting: false,
  ...more,
})

const seen = (more: Partial<ClusterSeen>): ClusterSeen => ({
  desired: [],
  rejected: [],
  inventory: [],
  live: new Map(),
  elsewhere: new Set(),
  referenced: new Set(),
  approved: new Set(),
  machines: [],
  ...more,
})

const config = (more: Partial<ClusterConfig> = {}): ClusterConfig => ({
  commit: COMMIT,
  source: SOURCE,
  target: 'Member',
  prune: { enabled: true, guard: '100%' },
  drift: 'Correct',
  ...more,
})

const a = desired('a')
const changesIn = ({ operations }: ClusterPlan): readonly (Write | Delete)[] => [
  ...operations.filter(isWrite),
  ...operations.filter(isDelete),
]
const liveOf = (entries: Readonly<Record<string, Live>>) =>
  new Map(Object.entries(entries).map(([name, l]) => [refText(desired(name).ref), l]))

test.each(['Correct', 'Detect', 'Off'] as const)('agents are given what git declares when drift is %s', (drift) => {
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...AGENT_CONFIG_MAP },
    data: agentConfigData({ lease: '5s' }),
  }
  const agents = { ref: refOf(object), object, digest: sha256OfJson(object) }
  const { committed } = planCluster(seen({ desired: [agents] }), config({ drift }))
  expect(committed.get(refText(agents.ref))).toEqual(contentOf(object))
})

test('a hold changes nothing of what controllers act on, and keeps what is not declared any more', () => {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...AGENT_CONFIG_MAP },
    data: agentConfigData({ lease: '5s' }),
  }
  const set = { ref: refOf(object), object, digest: sha256OfJson(object) }
  const free = planCluster(seen({ desired: [set] }), config())
  expect(free.committed.get(refText(set.ref))).toBeDefined()
  for (const hold of ['Drift', 'DriftAndPrune'] as const)
    expect(planCluster(seen({ desired: [set] }), config({ hold })).committed).toEqual(free.committed)
  const left = { inventory: [recorded(a)], live: liveOf({ a: live('a') }) }
  const kinds = (hold: ClusterConfig['hold']) =>
    changesIn(planCluster(seen(left), config(hold === undefined ? {} : { hold }))).map((x) => x.kind)
  expect([kinds(undefined), kinds('Drift'), kinds('DriftAndPrune')]).toEqual([['Delete'], ['Delete'], []])
})

describe('the guard', () => {
  const many = Array.from({ length: 10 }, (_, i) => desired(`o${i}`))
  const world = seen({
    desired: many.slice(5),
    inventory: many.map((d) => recorded(d)),
    live: new Map(many.map((d) => [refText(d.ref), live(d.ref.name)])),
  })
  const guarded = config({ prune: { enabled: true, guard: '40%' } })

  test('holds back all deletions when they are too many, and nothing else', () => {
    const plan = planCluster(world, guarded)
    expect(new Set(plan.operations.map((o) => `${o.kind} ${o.reason}`))).toEqual(new Set(['Defer PruneBlocked']))
    expect(plan.blocked).toMatchObject({ count: 5, allowed: 4 })
  })

  test('names every cluster among them, also where none is the first', () => {
    const clusters = ['pre', 'prod'].map((name) => {
      const declared = desired(name, '1', 'Cluster')
      return { ...declared, ref: { ...declared.ref, group: 'kubenode.io', namespace: 'fleet' } }
    })
    const gone = [...many.slice(0, 5), ...clusters]
    const plan = planCluster(
      {
        ...world,
        inventory: [...many, ...clusters].map((d) => recorded(d)),
        live: new Map([...many, ...clusters].map((d) => [refText(d.ref), live(d.ref.name)])),
      },
      guarded,
    )
    expect(plan.blocked).toMatchObject({ count: gone.length, clusters: ['fleet/pre', 'fleet/prod'] })
    expect(planCluster(world, guarded).blocked).not.toHaveProperty('clusters')
  })

  test('lets through the very list that was approved, and no other', () => {
    const digest = planCluster(world, guarded).blocked?.digest ?? ''
    const plan = planCluster({ ...world, approved: new Set([digest]) }, guarded)
    expect(plan.operations.map((o) => o.kind)).toEqual(Array(5).fill('Delete'))
    // For the Defender, which knows the approval but not the list.
    expect(plan.pruning?.targets).toHaveLength(5)
    expect([plan.pruning?.digest, pruningDigest(plan.pruning?.targets ?? [])]).toEqual([digest, digest])
    expect(planCluster({ ...world, approved: new Set() }, guarded).pruning).toBeUndefined()
    const more = { ...world, desired: many.slice(6), approved: new Set([digest]) }
    expect(changesIn(planCluster(more, guarded))).toEqual([])
  })

  test('deletes approved objects only once the Defender permits them, where it is asked', () => {
    const digest = planCluster(world, guarded).blocked?.digest ?? ''
    const approved = new Set([digest])
    const waiting = planCluster({ ...world, approved, permitted: new Set() }, guarded)
    expect(changesIn(waiting)).toEqual([])
    expect(waiting.blocked).toMatchObject({ digest, isApproved: true })
    expect(changesIn(planCluster({ ...world, approved, permitted: new Set([digest]) }, guarded))).toHaveLength(5)
    expect(changesIn(planCluster({ ...world, permitted: new Set([digest]) }, guarded))).toEqual([])
  })

  test.each([
    ['10%', 100, 10],
    ['10%', 99, 9],
    ['10%', 3, 1],
    ['0%', 100, 0],
    [3, 100, 3],
    [0, 100, 0],
  ] as const)('%s of %i objects lets %i go', (guard, total, allowed) => {
    expect(allowedPrunes(guard, total)).toBe(allowed)
  })
})

describe('sets of machines', () => {
  const set = (name: string, replicas: number, zone = 'z'): DesiredObject => {
    const object: KubeObject = {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'MachineSet',
      metadata: { name },
      spec: {
        replicas,
        selector: { matchLabels: { pool: 'w' } },
        template: { metadata: { labels: { pool: 'w' } }, spec: { provider: { name: 'process' }, zone } },
      },
    }
    return { ref: refOf(object), object, digest: sha256OfJson(object) }
  }
  const machinesOf = (owner: string, count: number): readonly Machine[] =>
    Array.from({ length: count }, (_, i) => ({
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: {
        name: `${owner}-${i}`,
        uid: `${owner}-${i}`,
        labels: { pool: 'w' },
        ownerReferences: [{ apiVersion: 'kubenode.io/v1alpha1', kind: 'MachineSet', name: owner, uid: `uid-${owner}` }],
      },
      spec: { channel: 'Agent', provider: { name: 'process' }, zone: 'z' },
    }))
  const old = set('old', 24)
  const fillers = Array.from({ length: 50 }, (_, i) => desired(`o${i}`))
  const world = (declared: readonly DesiredObject[], more: Partial<ClusterSeen> = {}): ClusterSeen =>
    seen({
      desired: [...declared, ...fillers],
      inventory: [old, ...fillers].map((d) => recorded(d)),
      live: new Map([old, ...fillers].map((d) => [refText(d.ref), live(d.ref.name)])),
      machines: [...machinesOf('old', 24), ...machinesOf('other', 76)],
      ...more,
    })
  const guarded = config({ prune: { enabled: true, guard: '10%' } })
  const said = (w: ClusterSeen, c = guarded) =>
    planCluster(w, c).operations.map((o) =>
      isWrite(o)
        ? `Apply ${o.desired.ref.name}`
        : o.kind === 'Delete'
          ? `Delete ${o.ref.name}`
          : `${o.reason} ${o.ref.name}`,
    )

  test('F41 are weighed by the machines that go with them', () => {
    expect(planCluster(world([]), guarded).blocked).toMatchObject({
      count: 1,
      allowed: 5,
      machines: 24,
      allowedMachines: 10,
    })
    expect(said(world([]))).toEqual(['PruneBlocked old'])
    expect(said(world([], { machines: [...machinesOf('old', 9), ...machinesOf('other', 91)] }))).toEqual(['Delete old'])
  })

  test('F41 pass where another set takes the machines over, up to its room', () => {
    expect(said(world([set('new', 24)]))).toEqual(['Apply new', 'Delete old'])
    expect(said(world([set('new', 14)]))).toEqual(['Apply new', 'Delete old'])
    expect(said(world([set('new', 13)]))).toEqual(['PruneBlocked old', 'PruneBlocked new'])
  })

  test('F41 wait together: the new one is not applied while the deletion of the old one waits', () => {
    const few = config({ prune: { enabled: true, guard: 0 } })
    expect(said(world([set('new', 24)]), few)).toEqual(['PruneBlocked old', 'PruneBlocked new'])
    expect(said(world([set('new', 24, 'elsewhere')]), few)).toEqual(['Apply new', 'PruneBlocked old'])
  })

  test('F41 stay while a set that may take over their machines is not valid', () => {
    const rejected = [{ ref: set('new', 24).ref, problem: 'a typo' }]
    expect(said(world([], { rejected }))).toEqual(['Rejected new', 'PruneDeferred old'])
  })

  test('single machines are counted too', () => {
    const object: KubeObject = {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name: 'old-1' },
      spec: {},
    }
    const one = { ref: refOf(object), object, digest: sha256OfJson(object) }
    const w = seen({
      inventory: [recorded(one, 'old-1')],
      live: new Map([[refText(one.ref), live('x', { uid: 'old-1' })]]),
      machines: machinesOf('old', 3),
    })
    expect(planCluster(w, config({ prune: { enabled: true, guard: 0 } })).blocked).toMatchObject({ machines: 1 })
  })

  describe('a Cluster that git no longer declares', () => {
    const of = (name: string): DesiredObject => {
      const metadata = { name, namespace: 'fleet' }
      const object: KubeObject = { apiVersion: 'kubenode.io/v1alpha1', kind: 'Cluster', metadata, spec: {} }
      return { ref: refOf(object), object, digest: sha256OfJson(object) }
    }
    const prod = of('prod')
    const without = (machines: number | 'Unknown', guard: ClusterConfig['prune']['guard'] = '10%') =>
      planCluster(
        seen({ inventory: [recorded(prod)], live: new Map([[refText(prod.ref), live('prod', { machines })]]) }),
        config({ prune: { enabled: true, guard } }),
      )

    test('is held like its pools: all of its machines go with it', () =>
      expect(without(6).blocked).toMatchObject({ count: 1, machines: 6, allowedMachines: 1, first: refText(prod.ref) }))

    test('is held while nobody knows how many machines it has', () => {
      const { blocked } = without('Unknown')
      expect(blocked).toMatchObject({ count: 1, clusters: ['fleet/prod'] })
      expect(blocked).not.toHaveProperty('machines')
    })

    test.each([6, 'Unknown'] as const)(
      'goes without asking where the guard allows all, with machines: %s',
      (machines) => expect(without(machines, '100%').operations.map((x) => x.kind)).toEqual(['Delete']),
    )

    test('goes when a person approved exactly that', () => {
      const approved = new Set([without(6).blocked?.digest ?? ''])
      expect(
        said(
          seen({
            inventory: [recorded(prod)],
            live: new Map([[refText(prod.ref), live('prod', { machines: 6 })]]),
            approved,
          }),
        ),
      ).toEqual(['Delete prod'])
    })

    test.each([0, 1])('goes without asking with %d machines', (machines) =>
      expect(without(machines).operations.map((x) => x.kind)).toEqual(['Delete']),
    )

    test('and declares again while it is being deleted is made anew, and not recorded before', () => {
      const ending = new Map([[refText(prod.ref), live('prod', { isDeleting: true })]])
      expect(said(seen({ desired: [prod], live: ending }))).toEqual(['BeingDeleted prod'])
      for (const drift of ['Correct', 'Detect', 'Off'] as const) {
        const gone = seen({ desired: [prod], live: new Map([[refText(prod.ref), 'Absent' as const]]) })
        expect(said(gone, config({ drift }))).toEqual(['Apply prod'])
      }
    })
  })

  test('F41 declared again while they are deleted, keep their machines', () => {
    const ending = new Map([[refText(old.ref), live('old', { isDeleting: true })]])
    const again = (c: ClusterConfig, inventory: readonly InventoryRef[]) =>
      planCluster(seen({ desired: [old], inventory, live: ending }), c)
        .operations.filter(isWrite)
        .map((x) => x.desired.object.metadata.annotations)
    const kept = [{ [ANNOTATIONS.keepMachines]: 'true' }]
    expect(again(config(), [recorded(old)])).toEqual(kept)
    expect(again(config({ drift: 'Detect' }), [recorded(old)])).toEqual([])
    // Sync itself deleted it: no longer recorded as applied, it is created again regardless of drift handling.
    const pruned = planCluster(
      seen({ inventory: [recorded(old)], live: new Map([[refText(old.ref), live('old')]]) }),
      config(),
    )
    const after = refsAfter([recorded(old)], pruned, { applied: new Map(), pruned: new Set() })
    expect(again(config({ drift: 'Detect' }), after)).toEqual(kept)
  })
})

test('what others rest on is applied first and deleted last', () => {
  const kinds = [
    'MachineComponentSet',
    'ConfigMap',
    'Namespace',
    'MachineSet',
    'Widget',
    'CustomResourceDefinition',
    'MachineComponent',
  ]
  const objects = kinds.map((kind) => ({
    ...desired(kind.toLowerCase()),
    ref: { group: 'g', kind, namespace: '', name: 'x' },
  }))
  const plan = planCluster(seen({ desired: objects }), config())
  const applied = plan.operations.filter(isWrite).map((x) => x.desired.ref.kind)
  expect(applied).toEqual([
    'CustomResourceDefinition',
    'Namespace',
    'ConfigMap',
    'MachineComponent',
    'Widget',
    'MachineSet',
    'MachineComponentSet',
  ])
  const inventory = objects.map((o) => ({ ...o.ref, uid: 'u' }))
  const there = new Map(inventory.map((r) => [refText(r), live('x', { uid: 'u' })]))
  const pruned = planCluster(seen({ inventory, live: there }), config())
    .operations.filter(isDelete)
    .map((x) => x.ref.kind)
  expect(pruned).toEqual(applied.toReversed())
})

test('the digest of deletions does not depend on their order', () => {
  const prunes = ['a', 'b', 'c'].map((name) => ({
    kind: 'Delete' as const,
    reason: 'Undeclared' as const,
    ref: desired(name).ref,
    uid: name,
    resourceVersion: '1',
  }))
  expect(pruneDigest(prunes.toReversed())).toBe(pruneDigest(prunes))
  expect(pruneDigest(prunes.slice(1))).not.toBe(pruneDigest(prunes))
})

describe('for any world', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
  const world = fc
    .record({
      declared: fc.uniqueArray(fc.record({ name, value: fc.constantFrom('1', '2') }), { selector: (d) => d.name }),
      known: fc.uniqueArray(
        fc.record({ name, value: fc.constantFrom('1', '2', '?'), uid: fc.constantFrom('u', 'v') }),
        { selector: (d) => d.name },
      ),
      there: fc.dictionary(
        name,
        fc.constantFrom<Live>(
          'Absent',
          'Unknown',
          live('x', { uid: 'u' }),
          live('x', { uid: 'u', matches: false }),
          live('x', { uid: 'v', isDeleting: true }),
        ),
      ),
    })
    .map(({ declared, known, there }) =>
      seen({
        desired: declared.map((d) => desired(d.name, d.value)),
        inventory: known.map((k) =>
          k.value === '?' ? desired(k.name).ref : recorded(desired(k.name, k.value), k.uid),
        ),
        live: liveOf(there),
      }),
    )
  const anyDrift = fc
    .constantFrom<ClusterConfig['drift'][]>('Detect', 'Correct', 'Off')
    .map((drift) => config({ drift }))

  test('planning again after all took effect asks for nothing more', () => {
    fc.assert(
      fc.property(world, anyDrift, (w, c) => {
        const plan = planCluster(w, c)
        const applied = new Map(plan.operations.filter(isWrite).map((x) => [refText(x.desired.ref), 'u'] as const))
        const pruned = new Set(plan.operations.filter(isDelete).map((x) => refText(x.ref)))
        const after = new Map(w.live)
        for (const key of applied.keys()) after.set(key, live('x', { uid: 'u' }))
        for (const key of pruned) after.set(key, 'Absent')
        const again = planCluster(
          { ...w, inventory: refsAfter(w.inventory, plan, { applied, pruned }), live: after },
          c,
        )
        expect(changesIn(again)).toEqual([])
      }),
      { numRuns: 300 },
    )
  })

  test('the inventory that is written first names everything that is touched, and a crash right after it loses nothing', () => {
    fc.assert(
      fc.property(world, anyDrift, (w, c) => {
        const plan = planCluster(w, c)
        const before = refsBefore(w.inventory, plan)
        const named = new Set(before.map(refText))
        for (const x of changesIn(plan)) expect(named).toContain(refText(isWrite(x) ? x.desired.ref : x.ref))
        for (const ref of w.inventory) expect(named).toContain(refText(ref))
        // The next run applies the same objects again: nothing counts as done.
        const again = planCluster({ ...w, inventory: before }, c)
        const applies = (p: typeof plan) => p.operations.filter(isWrite).map((x) => refText(x.desired.ref))
        expect(applies(again)).toEqual(applies(plan))
      }),
      { numRuns: 300 },
    )
  })

  test('what cannot be read, or is not recorded, is never deleted', () => {
    fc.assert(
      fc.property(world, anyDrift, (w, c) => {
        const known = new Set(w.inventory.map(refText))
        const declared = new Set(w.desired.map((d) => refText(d.ref)))
        for (const x of planCluster(w, c).operations.filter(isDelete)) {
          expect(known.has(refText(x.ref)) && !declared.has(refText(x.ref))).toBe(true)
          expect(w.live.get(refText(x.ref))).toMatchObject({ uid: x.uid, isDeleting: false })
        }
      }),
      { numRuns: 300 },
    )
  })
})

test('S27 what belongs to another leaves the inventory, so that it never allows edits of it', () => {
  const inventory = [recorded(a)]
  const theirs = liveOf({ a: live('a', { source: 'fleet/other' }) })
  const plan = planCluster(seen({ desired: [a], inventory, live: theirs }), config())
  expect(refsAfter(inventory, plan, { applied: new Map(), pruned: new Set() })).toEqual([])
})
