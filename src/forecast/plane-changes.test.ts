import { describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { refOf } from '#delivery/object-ref.ts'
import { planeChanges, planeNow, type PlaneNow } from './plane-changes.ts'
import { defined } from '#lib/defined.ts'
import { sha256OfJson } from '#lib/sha256.ts'

const cluster = (version: string, flavor = 'kubernetes', status: object = {}) =>
  ({
    apiVersion: API_GROUP_VERSION,
    kind: 'Cluster',
    metadata: { namespace: 'fleet', name: 'one' },
    spec: { version, controlPlane: { flavor, ...(flavor === 'kubernetes' && { upgrade: { soak: '2h' } }) } },
    status,
  }) as unknown as Cluster
const target = (object: Cluster) =>
  new Map([['hub', { objects: [{ ref: refOf(object), object, digest: sha256OfJson(object) }], rejected: [] }]])
const changes = (from: Cluster, to: Cluster, now?: readonly PlaneNow[]) =>
  planeChanges(target(from), target(to), now).map((c) => [c.isOneWay, c.what] as const)

const [old, next] = [cluster('1.35.9'), cluster('1.36.2')]
const snapshots = [{ name: 'edge-1', version: '1.35.9', takenAt: '2026-11-23T14:02:00Z', objects: 7, bytes: 1 }]
const runs = (version: string, more: object = {}) =>
  planeNow(cluster('1.36.2', 'kubernetes', { versions: [{ part: 'apiserver', version }], ...more }))
const change = { from: '1.35.9', to: '1.36.2', message: 'it soaks', wayBack: 'Programs' }

test('an upgrade says until when a revert brings the old programs back, and what it costs later', () => {
  expect(changes(old, next)).toEqual([
    [
      true,
      'upgrades cluster/one from 1.35.9 to 1.36.2: for 2h after the new programs serve a revert brings the old ones back in seconds and loses nothing; after the one-way step a revert needs an approval, restores a snapshot and loses what was written since',
    ],
  ])
})

test.each<[string, readonly PlaneNow[] | undefined, boolean, RegExp]>([
  ['soaks', [runs('1.35.9', { change })], false, /: the old programs return in seconds, and nothing is lost$/],
  ['has not begun', [runs('1.35.9')], false, /: the old programs return in seconds, and nothing is lost$/],
  [
    'is over its one-way step',
    [runs('1.36.2', { change: { ...change, wayBack: 'Restore', snapshot: 'edge-1', since: '2026-11-23T14:02:00Z' } })],
    true,
    /needs an approval, restores snapshot edge-1 and loses what was written since 2026-11-23T14:02:00Z$/,
  ],
  [
    'is done',
    [runs('1.36.2', { snapshots })],
    true,
    /needs an approval, restores snapshot edge-1 and loses what was written since 2026-11-23T14:02:00Z$/,
  ],
  ['is done, and its snapshot is gone', [runs('1.36.2')], true, /it is refused: .* no snapshot of 1\.35\.9 is left$/],
  ['is not in the inventory', [], true, /The inventory has no version of it$/],
  ['is not known', undefined, true, /run kubenode cluster show one$/],
])('a revert of an upgrade that %s says which way back it takes', (_, now, isOneWay, what) => {
  expect(changes(next, old, now)).toEqual([[isOneWay, expect.stringMatching(what)]])
  expect(changes(next, old, now)[0]?.[1]).toMatch(/^takes cluster\/one from 1\.36\.2 back to 1\.35\.9: /)
})

test('a patch, the same version, and an embedded API server have no one-way step', () => {
  expect(changes(old, old)).toEqual([])
  expect(changes(old, cluster('1.35.11'))).toEqual([])
  expect(changes(cluster('1.35.9', 'embedded'), cluster('1.36.2', 'embedded'))).toEqual([])
})

const withRotation = (rotation: object | undefined, flavor = 'kubernetes') => {
  const of = cluster('1.35.9', flavor)
  return { ...of, spec: { ...of.spec, controlPlane: { flavor, ...defined({ rotation }) } } } as Cluster
}

test.each([
  [
    'asked for',
    undefined,
    { certificateAuthority: 2 },
    [[true, /^replaces the certificate authority of cluster\/one,/]],
  ],
  [
    'asked for once more, with another',
    { certificateAuthority: 2 },
    { certificateAuthority: 3, etcdAuthority: 2 },
    [
      [
        true,
        /^replaces the certificate authority and the authority of etcd of cluster\/one,.* a revert does not bring/,
      ],
    ],
  ],
  [
    'reverted',
    { serviceAccountKeys: 2 },
    undefined,
    [[false, /^lowers the number of the service account keys of cluster\/one: nothing is replaced/]],
  ],
  ['as before', { frontProxyAuthority: 2 }, { frontProxyAuthority: 2 }, []],
  [
    'the number of the first ones',
    undefined,
    { certificateAuthority: 1 },
    [
      [
        false,
        /^gives the certificate authority of cluster\/one the number 1, .* nothing is replaced; 2 replaces them$/,
      ],
    ],
  ],
] as const)('keys of a control plane of either flavor whose replacement is %s', (_, from, to, change) => {
  const all = change.map(([isOneWay, what]) => [isOneWay, expect.stringMatching(what)])
  for (const flavor of ['kubernetes', 'embedded'])
    expect(changes(withRotation(from, flavor), withRotation(to, flavor))).toEqual(all)
})

test('a new control plane has its first keys, whatever the number', () => {
  const added = target(withRotation({ certificateAuthority: 4 }))
  expect(planeChanges(new Map(), added, undefined)).toEqual([])
})

const withRestore = (restore?: object) => {
  const of = cluster('1.36.2', 'embedded')
  return { ...of, spec: { ...of.spec, controlPlane: { flavor: 'embedded', ...defined({ restore }) } } } as Cluster
}

test('a restore says what it loses, once for each attempt', () => {
  const [without, first] = [withRestore(), withRestore({ snapshot: 'edge-1', attempt: 1 })]
  const head = 'restores snapshot edge-1 of cluster/one: it loses everything that was written since '
  expect(changes(without, first)).toEqual([[true, `${head}it was taken`]])
  expect(changes(without, first, [runs('1.36.2', { snapshots })])).toEqual([[true, `${head}2026-11-23T14:02:00Z`]])
  expect(changes(without, first, [runs('1.36.2')])).toEqual([
    [true, `${head}it was taken. The inventory has no such snapshot: the restore waits until there is one`],
  ])
  expect(changes(first, withRestore({ snapshot: 'edge-1', attempt: 2 }))).toHaveLength(1)
  expect(changes(first, withRestore({ snapshot: 'edge-1' }))).toEqual([])
  expect(changes(first, without)).toEqual([])
})

describe('in a pipeline', () => {
  const pipelineOf = (more: object) => ({
    apiVersion: API_GROUP_VERSION,
    kind: 'ReleasePipeline',
    metadata: { namespace: 'fleet', name: 'standard' },
    spec: {
      stages: [
        { name: 'test', clusters: { names: ['none'] } },
        { name: 'prod', clusters: { names: ['one'] }, ...more },
      ],
    },
  })
  const both = (object: Cluster, pipeline: object) =>
    new Map([
      [
        'hub',
        {
          objects: [object, pipeline as Cluster].map((o) => ({ ref: refOf(o), object: o, digest: sha256OfJson(o) })),
          rejected: [],
        },
      ],
    ])
  const drawn = (from: Cluster, to: Cluster, now?: readonly PlaneNow[], more: object = {}) =>
    planeChanges(both(from, pipelineOf(more)), both(to, pipelineOf(more)), now).map((c) => c.what)
  const [small, next1] = [cluster('1.35.1', 'embedded'), cluster('1.36.0', 'embedded')]
  const takes = 'takes cluster/one from 1.35.1 to 1.36.0 in stage prod, 2 of 2'
  const known = (machines: number, history: readonly object[] = []) => [
    planeNow(cluster('1.35.1', 'embedded', { machines: { total: machines }, history })),
  ]
  const tookMinutes = (minutes: number) => ({
    version: '1.35.1',
    startedAt: '2026-01-01T00:00:00Z',
    completedAt: `2026-01-01T00:${String(minutes).padStart(2, '0')}:00Z`,
  })
  const [completed, untimed] = [tookMinutes(4), tookMinutes(0)]

  test.each<[string, readonly PlaneNow[] | undefined, object, string]>([
    ['and an approval', undefined, {}, `${takes}, after an approval`],
    ['that asks for none', undefined, { withoutApproval: ['Versions'] }, takes],
    [
      'that asks certain people',
      undefined,
      { before: [{ name: 'board', approval: { from: ['ada'], count: 1 } }] },
      `${takes}, after an approval`,
    ],
    ['of a cluster without machines', known(0), {}, `${takes}; no such change of it is recorded`],
    [
      'and how long the only one took',
      known(2, [completed]),
      {},
      `${takes}, after an approval; the only one on record took 4m`,
    ],
    [
      'and how long half of them took',
      known(2, [tookMinutes(2), tookMinutes(30), tookMinutes(5), untimed]),
      {},
      `${takes}, after an approval; half of the 3 on record took at most 5m`,
    ],
  ])('a change of a version says in which stage the cluster has its turn: one %s', (_, now, more, what) => {
    expect(drawn(small, next1, now, more)).toEqual([what])
  })

  test('an upgrade says it after what it costs to go back', () => {
    expect(drawn(old, next)).toEqual([
      expect.stringMatching(/^upgrades .*; it has its turn in stage prod, 2 of 2, after an approval$/),
    ])
  })

  test.each<[string, readonly PlaneNow[] | undefined, object, string]>([
    ['with machines', known(3), {}, '3 machines in stage prod, 2 of 2, after an approval'],
    [
      'with machines that nobody counted',
      undefined,
      {},
      'all of its machines in stage prod, 2 of 2, after an approval',
    ],
    ['without machines', known(0), {}, '0 machines in stage prod, 2 of 2'],
    ['that needs none', known(3), { withoutApproval: ['Deletions'] }, '3 machines in stage prod, 2 of 2'],
  ])(
    'a deletion of a Cluster says what is lost, when, and until when a revert keeps it: one %s',
    (_, now, more, what) => {
      const gone = (plane: Cluster) => ({ ...plane, spec: { ...plane.spec, deletionPolicy: 'Delete' } }) as Cluster
      const steps = planeChanges(
        both(gone(small), pipelineOf(more)),
        target(pipelineOf(more) as unknown as Cluster),
        now,
      )
      expect(steps).toEqual([
        {
          cluster: 'hub',
          what: `deletes cluster/one with everything in its control plane and ${what}; until its turn a revert changes nothing, after it a revert makes an empty one`,
          isOneWay: true,
        },
      ])
      const kept = planeChanges(both(small, pipelineOf(more)), target(pipelineOf(more) as unknown as Cluster), now)
      expect(kept).toEqual([])
    },
  )

  test('addons and replicas have their turn too, and need no approval', () => {
    const changed = {
      ...old,
      spec: {
        ...old.spec,
        addons: [{ name: 'coredns', version: '1.12' }],
        controlPlane: { ...old.spec.controlPlane, replicas: 3 },
      },
    } as Cluster
    expect(drawn(old, changed)).toEqual(['changes replicas, addons of cluster/one in stage prod, 2 of 2'])
    expect(drawn(changed, changed)).toEqual([])
  })
})
