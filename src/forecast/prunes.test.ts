import { describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { type DesiredObject, type RenderedTarget } from '#delivery/desired.ts'
import { refOf } from '#delivery/object-ref.ts'
import { pruningDigest } from '#api/protocol/pruning.ts'
import { componentObjectName } from '#lib/names.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type AppliedObjects, INVENTORY_FORM, type Inventory, appliedOf } from './inventory.ts'
import { type PrunesRequest, prunesOf } from './prunes.ts'

const NOW = Date.parse('2026-01-05T12:00:00Z')
const SOURCE = `${SYSTEM_NAMESPACE}/fleet`

const map = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
})
const ours = (kind: string, name: string, spec: object = {}): KubeObject => ({
  apiVersion: API_GROUP_VERSION,
  kind,
  metadata: { name },
  spec,
})
const cluster = { ...ours('Cluster', 'prod'), metadata: { name: 'prod', namespace: SYSTEM_NAMESPACE } }
const target = (objects: readonly KubeObject[], rejected: readonly KubeObject[] = []): RenderedTarget => ({
  objects: objects.map((object): DesiredObject => ({ ref: refOf(object), object, digest: sha256OfJson(object) })),
  rejected: rejected.map((object) => ({ ref: refOf(object), problem: 'wrong' })),
})
const uidOf = (object: KubeObject) => `uid-${object.metadata.name}`
const applied = (objects: readonly KubeObject[], more: Partial<AppliedObjects> = {}): AppliedObjects => ({
  source: SOURCE,
  track: 'fleet',
  target: 'Member',
  refs: objects.map((o) => ({ ...refOf(o), uid: uidOf(o) })),
  ...more,
})
const inventory = (more: Partial<Inventory>): Inventory => ({
  form: INVENTORY_FORM,
  cluster: 'prod',
  takenAt: '2026-01-05T11:50:00Z',
  machines: [],
  nodes: [],
  machineSets: [],
  sets: [],
  components: [],
  revisions: [],
  permits: [],
  holds: [],
  approvals: [],
  policies: [],
  fullBudgets: [],
  canaries: [],
  ...more,
})
const rules = (prune: object = { enabled: true, guard: 1 }) => ({
  sources: [{ source: SOURCE, prune, tracks: [{ name: 'fleet', match: {}, pipelineRef: { name: 'standard' } }] }],
})

const ABC = ['a', 'b', 'c'].map(map)
const hub = target([cluster])
const request = (more: Partial<PrunesRequest> = {}): PrunesRequest => ({
  inventories: [inventory({ applied: [applied(ABC)], ...(rules() as object) })],
  before: new Map([
    ['hub', hub],
    ['prod', target(ABC)],
  ]),
  after: new Map([
    ['hub', hub],
    ['prod', target([map('a')])],
  ]),
  clusters: ['prod'],
  commit: 'c'.repeat(40),
  now: NOW,
  ...more,
})
const digest = (...objects: readonly KubeObject[]) =>
  pruningDigest(
    objects.map(
      (o) =>
        `${o.kind}${o.apiVersion === 'v1' ? '' : '.kubenode.io'}/${o.metadata.namespace === undefined ? '' : 'default/'}${o.metadata.name} ${uidOf(o)}`,
    ),
  )

describe('deletions that the prune guard stops', () => {
  test('more than the guard allows have the digest of exactly these objects, by uid', () => {
    const { promised, unknown } = prunesOf(request())
    expect(unknown).toEqual([])
    expect(promised).toEqual([
      {
        cluster: 'prod',
        source: SOURCE,
        track: 'fleet',
        digest: digest(map('b'), map('c')),
        count: 2,
        first: 'ConfigMap/default/b',
        guard: 1,
        allowed: 1,
        takenAt: '2026-01-05T11:50:00Z',
      },
    ])
  })

  test('as many as the guard allows need none, and neither does a source that deletes nothing', () => {
    const one = new Map([
      ['hub', hub],
      ['prod', target(ABC.slice(0, 2))],
    ])
    expect(prunesOf(request({ after: one })).promised).toEqual([])
    const off = inventory({ applied: [applied(ABC)], ...(rules({ enabled: false, guard: 1 }) as object) })
    expect(prunesOf(request({ inventories: [off] })).promised).toEqual([])
  })

  test('without the rules of the source the digest is named, and that its limit is not known', () => {
    const [promised] = prunesOf(request({ inventories: [inventory({ applied: [applied(ABC)] })] })).promised
    expect(promised).toMatchObject({ digest: digest(map('b'), map('c')), count: 2 })
    expect(promised).not.toHaveProperty('guard')
    expect(promised).not.toHaveProperty('allowed')
  })

  test('a source that git declares has the guard of the commit', () => {
    const declared = ours('FleetSource', 'fleet', { prune: { guard: 5 }, tracks: rules().sources[0]?.tracks })
    const source = { ...declared, metadata: { name: 'fleet', namespace: SYSTEM_NAMESPACE } }
    const after = new Map([
      ['hub', target([cluster, source])],
      ['prod', target([map('a')])],
    ])
    expect(prunesOf(request({ after })).promised).toEqual([])
  })

  test('a cluster that leaves the fleet keeps its objects; one that is left without any loses all', () => {
    expect(prunesOf(request({ after: new Map([['hub', target([])]]) })).promised).toEqual([])
    const [promised] = prunesOf(request({ after: new Map([['hub', hub]]) })).promised
    expect(promised).toMatchObject({ count: 3, digest: digest(...ABC) })
  })

  describe('that take a Cluster out', () => {
    const hosted = { version: '1.36.0', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete' }
    const withSpec = (spec: object) => ({ ...cluster, spec })
    const machines = (count: number) =>
      Array.from({ length: count }, (_, i) => ours('Machine', `m-${i}`)) as unknown as Inventory['machines']
    /** One hub object is no longer declared: this few are never held because of their number. */
    const promisedFor = (spec: object, inventories: readonly Inventory[], ...more: readonly KubeObject[]) => {
      const had = [withSpec(spec), ...ABC, ...more]
      const onHub = inventory({
        cluster: 'hub',
        applied: [applied(had, { target: 'Hub' })],
        ...(rules({ enabled: true, guard: '10%' }) as object),
      })
      const before = new Map([['hub', target(had)]])
      const after = new Map([['hub', target([...ABC, ...more])]])
      return prunesOf(request({ inventories: [onHub, ...inventories], before, after, clusters: ['hub'] })).promised
    }

    test('are none of the hub where the cluster has a stage, which deletes it', () => {
      const stages = [{ name: 'prod', clusters: { names: ['prod'] } }]
      const pipeline = { ...ours('ReleasePipeline', 'standard'), spec: { stages } }
      expect(promisedFor(hosted, [inventory({ machines: machines(6) })], pipeline)).toEqual([])
    })

    test('count the machines of the cluster as sync does, by its inventory', () =>
      expect(promisedFor(hosted, [inventory({ machines: machines(6) })])).toMatchObject([
        { cluster: 'hub', count: 1, machines: 6, allowedMachines: 1, guard: '10%' },
      ]))

    test('are held where a commit before gave the cluster a time to live', () =>
      expect(promisedFor({ ...hosted, ttl: '4h' }, [inventory({ machines: machines(6) })])).toMatchObject([
        { cluster: 'hub', count: 1, machines: 6, allowedMachines: 1 },
      ]))

    test('are held without the inventory of the cluster, and have no number of machines', () => {
      const [promised] = promisedFor(hosted, [])
      expect(promised).toMatchObject({ cluster: 'hub', count: 1, allowed: 1 })
      expect(promised).not.toHaveProperty('machines')
    })

    test.each([
      ['with one machine', hosted, [inventory({ machines: machines(1) })]],
      ['whose control plane is kept', { ...hosted, deletionPolicy: 'Orphan' }, []],
      ['that is only registered', { kubeconfigSecretRef: { name: 'cluster-prod', key: 'kubeconfig' } }, []],
    ])('need no approval for one %s', (_, spec, inventories) => expect(promisedFor(spec, inventories)).toEqual([]))
  })

  test('objects of another source, of another track and those that are declared wrongly are not deleted', () => {
    const other = applied([map('x'), map('y'), map('z')], { source: `${SYSTEM_NAMESPACE}/other` })
    const inventories = [inventory({ applied: [other, applied(ABC)], ...(rules() as object) })]
    expect(prunesOf(request({ inventories })).promised.map((p) => p.source)).toEqual([SOURCE])
    const wrong = new Map([
      ['hub', hub],
      ['prod', target([map('a')], [map('b')])],
    ])
    expect(prunesOf(request({ after: wrong })).promised).toEqual([])
  })

  test('a version that machines still use is deleted later, and is no part of the digest', () => {
    const [old = cluster, unused = cluster] = ['1.0.0', '0.9.0'].map((v) =>
      ours('MachineComponent', componentObjectName('beacon', v)),
    )
    const has = [...ABC, old, unused]
    const there = (o: KubeObject) => ({ ...o, metadata: { ...o.metadata, uid: uidOf(o) } })
    const inventories = [
      inventory({
        applied: [applied(has)],
        components: [there(old), there(unused)] as never,
        machines: [{ ...ours('Machine', 'm', { components: [{ name: 'beacon', version: '1.0.0' }] }) }] as never,
        ...(rules() as object),
      }),
    ]
    const before = new Map([
      ['hub', hub],
      ['prod', target(has)],
    ])
    const [promised] = prunesOf(request({ inventories, before })).promised
    expect(promised?.count).toBe(3)
    expect(promised?.digest).toBe(digest(map('b'), map('c'), unused))
  })

  test.each([
    ['it is hours old', { takenAt: '2026-01-05T08:30:00Z' }, 'the inventory is 3 h old'],
    [
      'the cluster has objects of another commit',
      { applied: [applied([...ABC, map('d')])] },
      'the cluster has 1 object that the base of the plan does not declare, the first is ConfigMap/default/d',
    ],
    [
      'the base is not applied yet',
      { applied: [applied(ABC.slice(0, 2))] },
      'the cluster does not have 1 object yet that the base of the plan declares, the first is ConfigMap/default/c',
    ],
  ])('the digest may differ when %s', (_, more, why) => {
    const inventories = [
      inventory({ applied: [applied(ABC)], ...(rules({ enabled: true, guard: 0 }) as object), ...more }),
    ]
    const [promised] = prunesOf(request({ inventories })).promised
    expect(promised?.mayDiffer).toBe(why)
  })

  test.each([
    ['no inventory', [], 'no inventory was given'],
    ['one of an older release', [inventory({})], 'its inventory was made by an older release; export it again'],
    [
      'records that do not tell hub and member apart',
      [inventory({ applied: [{ source: SOURCE, track: 'fleet', refs: [] }] })],
      'what was applied there was recorded by an older release; sync records it again',
    ],
  ])('with %s it is unknown, and why', (_, inventories, why) => {
    const { promised, unknown } = prunesOf(request({ inventories }))
    expect(promised).toEqual([])
    expect(unknown).toEqual([{ cluster: 'prod', why }])
  })
})

test('an inventory has identities of what was applied, and no digest that would tell a value of a Secret', () => {
  const ref = { group: '', kind: 'Secret', namespace: 'default', name: 's', uid: 'u', digest: 'abcdef0123456789' }
  const shard = (n: number) =>
    ({
      spec: { source: SOURCE, track: 'fleet', target: 'Member', shard: n, refs: [{ ...ref, name: `s-${n}` }] },
    }) as never
  expect(appliedOf([shard(0), shard(1)])).toEqual([
    {
      source: SOURCE,
      track: 'fleet',
      target: 'Member',
      refs: [0, 1].map((n) => ({ group: '', kind: 'Secret', namespace: 'default', name: `s-${n}`, uid: 'u' })),
    },
  ])
})
