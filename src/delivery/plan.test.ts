import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AGENT_CONFIG_MAP, agentConfigData } from '#api/agent-config/agent-config-map.ts'
import { contentOf } from '#api/protocol/committed.ts'
import { pruningDigest } from '#api/protocol/pruning.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { refOf, refText } from './object-ref.ts'
import type { DesiredObject } from './desired.ts'
import { digestOf } from './desired.ts'
import { refsAfter, refsBefore } from './inventory.ts'
import { planCluster, shortDigest, type ClusterConfig, type ClusterSeen, type InventoryRef, type Live } from './plan.ts'
import { allowedPrunes, pruneDigest } from './prune-guard.ts'

const COMMIT = 'c'.repeat(40)
const SOURCE = 'fleet/own'
const EARLIER = 'e'.repeat(40)

const desired = (name: string, value = '1', kind = 'ConfigMap'): DesiredObject => {
  const object: KubeObject =
    kind === 'MachineComponent'
      ? { apiVersion: 'kubenode.io/v1alpha1', kind, metadata: { name }, spec: { value } }
      : { apiVersion: 'v1', kind, metadata: { name, namespace: 'default' }, data: { value } }
  return { ref: refOf(object), object, digest: digestOf(object) }
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
const liveOf = (entries: Readonly<Record<string, Live>>) =>
  new Map(Object.entries(entries).map(([name, l]) => [refText(desired(name).ref), l]))

test.each(['Correct', 'Detect', 'Off'] as const)('agents are given what git declares when drift is %s', (drift) => {
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...AGENT_CONFIG_MAP },
    data: agentConfigData({ lease: '5s' }),
  }
  const agents = { ref: refOf(object), object, digest: digestOf(object) }
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
  const set = { ref: refOf(object), object, digest: digestOf(object) }
  const free = planCluster(seen({ desired: [set] }), config())
  expect(free.committed.get(refText(set.ref))).toBeDefined()
  for (const hold of ['Drift', 'DriftAndPrune'] as const)
    expect(planCluster(seen({ desired: [set] }), config({ hold })).committed).toEqual(free.committed)
  const left = { inventory: [recorded(a)], live: liveOf({ a: live('a') }) }
  const kinds = (hold: ClusterConfig['hold']) =>
    planCluster(seen(left), config(hold === undefined ? {} : { hold })).actions.map((x) => x.kind)
  expect([kinds(undefined), kinds('Drift'), kinds('DriftAndPrune')]).toEqual([['Prune'], ['Prune'], []])
})

describe('what is declared', () => {
  test.each<[string, Partial<ClusterSeen>, Partial<ClusterConfig>, string]>([
    ['is applied when it is new', { live: liveOf({ a: 'Absent' }) }, {}, `Apply New ${COMMIT}`],
    ['is applied when its presence is unknown', {}, {}, `Apply New ${COMMIT}`],
    [
      'is left alone when it is as recorded',
      { inventory: [recorded(a)], live: liveOf({ a: live('a') }) },
      {},
      'Unchanged',
    ],
    [
      'is left alone when it cannot be read',
      { inventory: [recorded(a)], live: liveOf({ a: 'Unknown' }) },
      {},
      'Unchanged',
    ],
    [
      'is applied when its content changed',
      { inventory: [recorded(desired('a', '0'))], live: liveOf({ a: live('a') }) },
      {},
      `Apply Changed ${COMMIT}`,
    ],
    [
      'is applied when a run before was killed in between',
      { inventory: [a.ref], live: liveOf({ a: live('a') }) },
      {},
      `Apply Unrecorded ${COMMIT}`,
    ],
    [
      'comes back after it was deleted',
      { inventory: [recorded(a)], live: liveOf({ a: 'Absent' }) },
      {},
      `Apply Missing ${COMMIT}`,
    ],
    [
      'is put back with the commit that it had',
      { inventory: [recorded(a)], live: liveOf({ a: live('a', { matches: false }) }) },
      {},
      `Apply Drifted ${EARLIER}`,
    ],
    [
      'is only reported where drift is only detected',
      { inventory: [recorded(a)], live: liveOf({ a: live('a', { matches: false }) }) },
      { drift: 'Detect' },
      'Skip DriftDetected',
    ],
    [
      'is only reported while a hold binds',
      { inventory: [recorded(a)], live: liveOf({ a: live('a', { matches: false }) }) },
      { hold: 'Drift' },
      'Skip DriftDetected',
    ],
    [
      'does not come back while a hold binds',
      { inventory: [recorded(a)], live: liveOf({ a: 'Absent' }) },
      { hold: 'DriftAndPrune' },
      'Skip DriftDetected',
    ],
    [
      'is left to others under a hold, too, where drift is off',
      { inventory: [recorded(a)], live: liveOf({ a: live('a', { matches: false }) }) },
      { drift: 'Off', hold: 'Drift' },
      'Unchanged',
    ],
    [
      'is applied under a hold where its rollout has begun: its content changed',
      { inventory: [recorded(desired('a', '0'))], live: liveOf({ a: live('a') }) },
      { hold: 'Drift' },
      `Apply Changed ${COMMIT}`,
    ],
    [
      'is left to others where drift is off',
      { inventory: [recorded(a)], live: liveOf({ a: live('a', { matches: false }) }) },
      { drift: 'Off' },
      'Unchanged',
    ],
    [
      'waits while it is being deleted',
      { inventory: [recorded(a)], live: liveOf({ a: live('a', { isDeleting: true }) }) },
      {},
      'Skip BeingDeleted',
    ],
  ])('%s', (_, world, settings, wanted) => {
    const plan = planCluster(seen({ desired: [a], ...world }), config(settings))
    const found = [
      ...plan.actions.map((x) => (x.kind === 'Apply' ? `Apply ${x.reason} ${x.commit}` : x.kind)),
      ...plan.skips.map((s) => `Skip ${s.reason}`),
      ...(plan.unchanged > 0 ? ['Unchanged'] : []),
    ]
    expect(found).toEqual([wanted])
  })

  test('a Secret stays while another is wrong, which may be the same under another name; other objects do not wait', () => {
    const [old, wrong] = [desired('old', '1', 'Secret'), desired('new', '1', 'Secret')]
    const plan = planCluster(
      seen({
        inventory: [recorded(old), recorded(a)],
        live: new Map([old, a].map((d) => [refText(d.ref), live(d.ref.name)])),
        rejected: [{ ref: wrong.ref, problem: 'its MAC does not match' }],
      }),
      config(),
    )
    expect(plan.actions.map((x) => (x.kind === 'Prune' ? x.ref.name : x.kind))).toEqual(['a'])
    expect(plan.skips.map((s) => `${s.reason} ${s.ref.name}`)).toEqual(['Rejected new', 'PruneDeferred old'])
  })
})

describe('what is not declared any more', () => {
  const gone = recorded(a)
  test.each<[string, Partial<ClusterSeen>, Partial<ClusterConfig>, string]>([
    ['is deleted, this very object', { live: liveOf({ a: live('a') }) }, {}, 'Prune uid-a 7'],
    ['is forgotten when it is gone already', { live: liveOf({ a: 'Absent' }) }, {}, 'Skip Gone'],
    ['stays when it cannot be read', { live: liveOf({ a: 'Unknown' }) }, {}, 'Skip Unreadable'],
    ['stays when it was not read', {}, {}, 'Skip Unreadable'],
    ['stays when it is another object of the same name', { live: liveOf({ a: live('b') }) }, {}, 'Skip OtherObject'],
    [
      'stays when pruning is off',
      { live: liveOf({ a: live('a') }) },
      { prune: { enabled: false, guard: '100%' } },
      'Skip PruneDisabled',
    ],
    [
      'stays when another track declares it now',
      { live: liveOf({ a: live('a') }), elsewhere: new Set([refText(a.ref)]) },
      {},
      'Skip MovedTrack',
    ],
    [
      'stays when it is declared but wrong',
      { live: liveOf({ a: live('a') }), rejected: [{ ref: a.ref, problem: 'bad' }] },
      {},
      'Skip Rejected',
    ],
    [
      'stays when the guard is zero',
      { live: liveOf({ a: live('a') }) },
      { prune: { enabled: true, guard: 0 } },
      'Skip PruneBlocked',
    ],
  ])('%s', (_, world, settings, wanted) => {
    const plan = planCluster(seen({ inventory: [gone], ...world }), config(settings))
    const found = [
      ...plan.actions.map((x) => (x.kind === 'Prune' ? `Prune ${x.uid} ${x.resourceVersion}` : x.kind)),
      ...plan.skips.map((s) => `Skip ${s.reason}`),
    ]
    expect(found).toEqual([wanted])
  })

  test('stays when it is a component version that a machine still uses', () => {
    const component = desired('beacon.1.0.0', '1', 'MachineComponent')
    const world = { inventory: [recorded(component)], live: new Map([[refText(component.ref), live('beacon.1.0.0')]]) }
    const plan = planCluster(seen({ ...world, referenced: new Set(['beacon.1.0.0']) }), config())
    expect([plan.actions, plan.skips.map((s) => s.reason)]).toEqual([[], ['PruneDeferred']])
    expect(planCluster(seen(world), config()).actions).toHaveLength(1)
  })
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
    expect(plan.actions).toEqual([])
    expect(plan.blocked).toMatchObject({ count: 5, allowed: 4 })
    expect(plan.unchanged).toBe(5)
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
    expect(plan.actions).toHaveLength(5)
    // For the Defender, which knows the approval and not the list.
    expect(plan.pruning?.targets).toHaveLength(5)
    expect([plan.pruning?.digest, pruningDigest(plan.pruning?.targets ?? [])]).toEqual([digest, digest])
    expect(planCluster({ ...world, approved: new Set() }, guarded).pruning).toBeUndefined()
    const more = { ...world, desired: many.slice(6), approved: new Set([digest]) }
    expect(planCluster(more, guarded).actions).toEqual([])
  })

  test('deletes approved objects only once the Defender permits them, where it is asked', () => {
    const digest = planCluster(world, guarded).blocked?.digest ?? ''
    const approved = new Set([digest])
    const waiting = planCluster({ ...world, approved, permitted: new Set() }, guarded)
    expect(waiting.actions).toEqual([])
    expect(waiting.blocked).toMatchObject({ digest, isApproved: true })
    expect(planCluster({ ...world, approved, permitted: new Set([digest]) }, guarded).actions).toHaveLength(5)
    expect(planCluster({ ...world, permitted: new Set([digest]) }, guarded).actions).toEqual([])
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
    return { ref: refOf(object), object, digest: digestOf(object) }
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
  const said = (w: ClusterSeen, c = guarded) => {
    const { actions, skips } = planCluster(w, c)
    return [
      ...actions.map((x) => (x.kind === 'Apply' ? `Apply ${x.desired.ref.name}` : `Prune ${x.ref.name}`)),
      ...skips.map((s) => `${s.reason} ${s.ref.name}`),
    ]
  }

  test('F41 are weighed by the machines that go with them', () => {
    expect(planCluster(world([]), guarded).blocked).toMatchObject({
      count: 1,
      allowed: 5,
      machines: 24,
      allowedMachines: 10,
    })
    expect(said(world([]))).toEqual(['PruneBlocked old'])
    expect(said(world([], { machines: [...machinesOf('old', 9), ...machinesOf('other', 91)] }))).toEqual(['Prune old'])
  })

  test('F41 pass where another set takes the machines over, up to its room', () => {
    expect(said(world([set('new', 24)]))).toEqual(['Apply new', 'Prune old'])
    expect(said(world([set('new', 14)]))).toEqual(['Apply new', 'Prune old'])
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
    const one = { ref: refOf(object), object, digest: digestOf(object) }
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
      return { ref: refOf(object), object, digest: digestOf(object) }
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
      (machines) => expect(without(machines, '100%').actions.map((x) => x.kind)).toEqual(['Prune']),
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
      ).toEqual(['Prune prod'])
    })

    test.each([0, 1])('goes without asking with %d machines', (machines) =>
      expect(without(machines).actions.map((x) => x.kind)).toEqual(['Prune']),
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
      planCluster(seen({ desired: [old], inventory, live: ending }), c).actions.map((x) =>
        x.kind === 'Apply' ? x.desired.object.metadata.annotations : x.kind,
      )
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
  const applied = plan.actions.map((x) => (x.kind === 'Apply' ? x.desired.ref.kind : ''))
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
  const pruned = planCluster(seen({ inventory, live: there }), config()).actions.map((x) =>
    x.kind === 'Prune' ? x.ref.kind : '',
  )
  expect(pruned).toEqual(applied.toReversed())
})

test('the digest of deletions does not depend on their order', () => {
  const prunes = ['a', 'b', 'c'].map((name) => ({
    kind: 'Prune' as const,
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
        const applied = new Map(
          plan.actions.flatMap((x) => (x.kind === 'Apply' ? [[refText(x.desired.ref), 'u'] as const] : [])),
        )
        const pruned = new Set(plan.actions.flatMap((x) => (x.kind === 'Prune' ? [refText(x.ref)] : [])))
        const after = new Map(w.live)
        for (const key of applied.keys()) after.set(key, live('x', { uid: 'u' }))
        for (const key of pruned) after.set(key, 'Absent')
        const again = planCluster(
          { ...w, inventory: refsAfter(w.inventory, plan, { applied, pruned }), live: after },
          c,
        )
        expect(again.actions).toEqual([])
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
        for (const x of plan.actions) expect(named).toContain(refText(x.kind === 'Apply' ? x.desired.ref : x.ref))
        for (const ref of w.inventory) expect(named).toContain(refText(ref))
        // The next run applies the same objects again: nothing counts as done.
        const again = planCluster({ ...w, inventory: before }, c)
        const applies = (p: typeof plan) =>
          p.actions.flatMap((x) => (x.kind === 'Apply' ? [refText(x.desired.ref)] : []))
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
        for (const x of planCluster(w, c).actions) {
          if (x.kind !== 'Prune') continue
          expect(known.has(refText(x.ref)) && !declared.has(refText(x.ref))).toBe(true)
          expect(w.live.get(refText(x.ref))).toMatchObject({ uid: x.uid, isDeleting: false })
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('S27 another source', () => {
  const theirs = { source: 'fleet/other' }
  const unmarked = { source: SOURCE, isUnmarked: true } as const
  const actions = (more: Partial<ClusterSeen>, how: Partial<ClusterConfig> = {}) => {
    const plan = planCluster(seen(more), config(how))
    return [...plan.actions.map((x) => `${x.kind} ${x.reason}`), ...plan.skips.map((x) => x.reason)]
  }
  const there = (more: object) => liveOf({ a: live('a', more) })

  test.each<[string, Partial<ClusterSeen>, Partial<ClusterConfig>, readonly string[]]>([
    ['has the object: it is not applied', { desired: [a], live: there(theirs) }, {}, ['OtherSource']],
    [
      'has the object that changed here: it is not applied',
      { desired: [a], inventory: [recorded(desired('a', '0'))], live: there({ ...theirs, matches: false }) },
      {},
      ['OtherSource'],
    ],
    [
      'has the object that an Inventory lists here: it is not pruned',
      { inventory: [recorded(a)], live: there(theirs) },
      {},
      ['OtherSource'],
    ],
    [
      'was deleted and is replaced: its object is applied',
      { desired: [a], inventory: [{ ...a.ref, uid: 'uid-a' }], live: there(theirs) },
      { replaces: ['fleet/other'] },
      ['Apply Unrecorded'],
    ],
    [
      'was deleted and is replaced: its object is pruned',
      { inventory: [recorded(a)], live: there(theirs) },
      { replaces: ['fleet/other'] },
      ['Prune Undeclared'],
    ],
    [
      'is none: an object that lost its mark is not pruned for being listed',
      {
        inventory: [recorded(a)],
        live: new Map([[refText(a.ref), { ...(live('a') as object), source: undefined } as never]]),
      },
      {},
      ['OtherObject'],
    ],
    [
      'is none: an object of an older release is marked',
      { desired: [a], inventory: [recorded(a)], live: there(unmarked) },
      {},
      ['Apply Unmarked'],
    ],
    [
      'is none: an object of an older release is pruned',
      { inventory: [recorded(a)], live: there(unmarked) },
      {},
      ['Prune Undeclared'],
    ],
    [
      'is none: what spec.writes no longer allows is not pruned',
      { inventory: [recorded(a)], live: there({}) },
      { writes: { kinds: ['ConfigMap'], namespaces: ['shop'] } },
      ['PruneDisabled'],
    ],
  ])('%s', (_, more, how, wanted) => {
    expect(actions(more, how)).toEqual(wanted)
  })

  test('what belongs to another leaves the inventory, so that it never allows edits of it', () => {
    const inventory = [recorded(a)]
    const plan = planCluster(seen({ desired: [a], inventory, live: there(theirs) }), config())
    expect(refsAfter(inventory, plan, { applied: new Map(), pruned: new Set() })).toEqual([])
  })
})
