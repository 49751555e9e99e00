import { describe, expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { differenceOf, hasDifference, noteTexts } from './difference.ts'
import { refOf } from '#delivery/object-ref.ts'
import type { Targets } from '#delivery/desired.ts'
import { defined } from '#lib/defined.ts'
import { sha256OfJson } from '#lib/sha256.ts'

const targets = (byCluster: Readonly<Record<string, readonly KubeObject[]>>): Targets =>
  new Map(
    Object.entries(byCluster).map(([name, objects]) => [
      name,
      {
        objects: objects.map((object) => ({ object, ref: refOf(object), digest: sha256OfJson(object) })),
        rejected: [],
      },
    ]),
  )
const config = (name: string, data: object, kind = 'ConfigMap'): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'd' },
  data,
})
const set = (versions: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineComponentSet',
  metadata: { name: 'base' },
  spec: { components: Object.entries(versions).map(([name, version]) => ({ name, version })) },
})

test('objects are added, changed and removed cluster by cluster, down to the field', () => {
  const before = targets({
    prod: [config('a', { x: '1' }), config('gone', {}), config('same', {})],
    old: [config('a', {})],
  })
  const after = targets({ prod: [config('a', { x: '2', y: '3' }), config('new', {}), config('same', {})] })
  const [old, prod] = differenceOf(before, after)
  expect(old).toMatchObject({ cluster: 'old', removed: 1 })
  expect(prod).toMatchObject({ cluster: 'prod', added: 1, changed: 1, removed: 1, unchanged: 1 })
  expect(prod?.changes.map((c) => [c.change, c.object])).toEqual([
    ['changed', 'ConfigMap/d/a'],
    ['removed', 'ConfigMap/d/gone'],
    ['added', 'ConfigMap/d/new'],
  ])
  expect(prod?.changes[0]?.fields).toEqual([
    { path: 'data.x', before: '1', after: '2' },
    { path: 'data.y', after: '3' },
  ])
})

test('entries of lists are compared by their names', () => {
  const [d] = differenceOf(
    targets({ c: [set({ scribe: '1', beacon: '1' })] }),
    targets({ c: [set({ beacon: '2', scribe: '1' })] }),
  )
  expect(d?.changes[0]?.fields).toEqual([
    { path: 'spec.components (order)', before: ['scribe', 'beacon'], after: ['beacon', 'scribe'] },
    { path: 'spec.components[beacon].version', before: '1', after: '2' },
  ])
  const [more] = differenceOf(
    targets({ c: [set({ scribe: '1', beacon: '1' })] }),
    targets({ c: [set({ canary: '1', scribe: '1', beacon: '1' })] }),
  )
  expect(more?.changes[0]?.fields.map((f) => f.path)).toEqual(['spec.components[canary]'])
})

test('of texts that hold JSON the fields that change are shown, and an entry more shows as one', () => {
  const rule = (condition: string, pattern: string) => ({ condition, pattern })
  const json = (value: unknown) => ({ 'agent.json': JSON.stringify(value, null, 2) })
  const between = (before: unknown, after: unknown) =>
    differenceOf(targets({ c: [config('a', json(before))] }), targets({ c: [config('a', json(after))] }))[0]?.changes[0]
      ?.fields
  const [one, two] = [rule('A', 'a'), rule('B', 'b')]
  expect(between({ lease: '5s', logs: [{ rules: [one, two] }] }, { logs: [{ rules: [one, rule('B', 'c')] }] })).toEqual(
    [
      { path: 'data.agent.json.lease', before: '5s' },
      { path: 'data.agent.json.logs[0].rules[1].pattern', before: 'b', after: 'c' },
    ],
  )
  expect(between({ rules: [one] }, { rules: [two, one] })).toEqual([{ path: 'data.agent.json.rules[0]', after: two }])
  expect(between({ a: 1 }, [])).toEqual([{ path: 'data.agent.json', before: '{\n  "a": 1\n}', after: '[]' }])
})

test('values of Secrets never appear', () => {
  const all = differenceOf(
    targets({ c: [config('s', { k: 'b2xk' }, 'Secret')] }),
    targets({ c: [config('s', { k: 'bmV3' }, 'Secret')] }),
  )
  expect(JSON.stringify(all)).not.toMatch(/b2xk|bmV3/)
  expect(all[0]?.changes[0]?.fields).toEqual([{ path: 'data' }])
})

test('equal renderings have no difference', () => {
  const one = targets({ c: [config('a', {})] })
  expect(hasDifference(differenceOf(one, one))).toBe(false)
  expect(hasDifference(differenceOf(new Map(), one))).toBe(true)
})

describe('machines that a commit deletes and creates', () => {
  const pool = (name: string, replicas?: number, more: object = {}): KubeObject => ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MachineSet',
    metadata: { name },
    spec: {
      ...defined({ replicas }),
      selector: { matchLabels: { pool: 'w' } },
      template: { metadata: { labels: { pool: 'w' } }, spec: { provider: { name: 'process' }, ...more } },
    },
  })
  const single = (name: string, channel?: 'Observe'): KubeObject => ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name },
    spec: defined({ channel }),
  })
  const between = (before: readonly KubeObject[], after: readonly KubeObject[]) =>
    differenceOf(targets({ c: before }), targets({ c: after }))[0]?.machines

  test.each<[string, readonly KubeObject[], readonly KubeObject[], number | undefined]>([
    ['none where nothing changes', [pool('a', 3)], [pool('a', 3)], undefined],
    ['none where a set is renamed', [pool('a', 24)], [pool('b', 24)], undefined],
    ['those beyond the old number', [pool('a', 24)], [pool('a', 30)], 6],
    ['those that a new set does not take over', [pool('a', 24)], [pool('b', 30)], 6],
    ['those of a new set', [pool('a', 3)], [pool('a', 3), pool('b')], 1],
    ['those of one set although another shrinks', [pool('a', 9), pool('b', 3)], [pool('a', 3), pool('b', 9)], 6],
  ])('created: %s', (_, before, after, created) => expect(between(before, after)?.created).toBe(created))

  test.each<readonly [string, readonly KubeObject[], readonly KubeObject[], object]>([
    ['none where nothing changes', [pool('a', 3)], [pool('a', 3)], { deleted: 0, sets: [] }],
    [
      'none where a set is renamed',
      [pool('a', 24)],
      [pool('b', 24)],
      { deleted: 0, sets: [{ set: 'a', of: 24, deleted: 0, kept: 24 }] },
    ],
    [
      'those beyond the new number',
      [pool('a', 24)],
      [pool('b', 20)],
      { deleted: 4, sets: [{ set: 'a', deleted: 4, kept: 20 }] },
    ],
    [
      'all where the new set needs other hosts',
      [pool('a', 24, { zone: 'x' })],
      [pool('b', 24, { zone: 'y' })],
      { deleted: 24 },
    ],
    ['all where the other set has its machines already', [pool('a', 3), pool('b', 3)], [pool('b', 3)], { deleted: 3 }],
    ['none where the other set grows by as many', [pool('a', 3), pool('b', 3)], [pool('b', 6)], { deleted: 0 }],
    [
      'those of a set that shrinks',
      [pool('a', 3)],
      [pool('a', 1)],
      { deleted: 2, sets: [{ set: 'a', of: 3, deleted: 2, kept: 0 }] },
    ],
    [
      'those of a set that names no number, which others may have scaled',
      [pool('a')],
      [],
      { deleted: 0, sets: [], uncounted: [{ set: 'a', why: 'NoReplicas' }] },
    ],
    [
      'single ones, but not those that are only observed',
      [single('m'), single('o', 'Observe')],
      [],
      { deleted: 1, single: ['m'] },
    ],
  ])('%s', (_, before, after, wanted) => expect(between(before, after)).toMatchObject(wanted))
})

test('encrypted values show as a hash that tells whether they change in this plan, and nothing in another one', () => {
  const sealed = (data: string) => `ENC[AES256_GCM,data:${data},iv:aa,tag:bb,type:str]`
  const secret = (values: Readonly<Record<string, string>>): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', namespace: 'shop' },
    data: Object.fromEntries(Object.entries(values).map(([k, v]) => [k, sealed(v)])),
  })
  const shown = (before: KubeObject, after: KubeObject) =>
    differenceOf(targets({ test: [before] }), targets({ test: [after] }))[0]?.changes[0]?.fields ?? []
  const [first, other] = [
    shown(secret({ a: '1', b: '1' }), secret({ a: '2', b: '1' })),
    shown(secret({ a: '1', b: '2' }), secret({ a: '2', b: '2' })),
  ]
  expect(first.map((f) => f.path)).toEqual(['data.a'])
  expect(first[0]?.before).toMatch(/^\*\*\* \([0-9a-f]{8}\)$/)
  expect(first[0]?.before).not.toBe(first[0]?.after)
  // The same values next to a different one.
  expect(first[0]?.before).not.toBe(other[0]?.before)
  expect(shown(secret({ a: '1', b: '1' }), secret({ a: '2', b: '1' }))).toEqual(first)
})

describe('a FleetSource', () => {
  const source = (spec: object): KubeObject => ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'FleetSource',
    metadata: { name: 'fleet', namespace: 'kubenode-system' },
    spec: { url: 'https://git.example.org/fleet.git', ref: { branch: 'main' }, path: '.', interval: '1m', ...spec },
  })
  const notes = (spec: object) =>
    differenceOf(targets({ hub: [source({})] }), targets({ hub: [source(spec)] })).flatMap(noteTexts)

  test.each([
    ['path', { path: 'fleet' }, 'spec.path'],
    ['branch', { ref: { branch: 'next' } }, 'spec.ref.branch'],
    ['tag in place of a branch', { ref: { tag: 'v1' } }, 'spec.ref'],
    ['repository', { url: 'https://git.example.org/other.git' }, 'spec.url'],
  ])('that reads another %s may declare everything anew, which the plan says in words', (_, spec, path) => {
    expect(notes(spec)).toEqual([expect.stringContaining('reads from another place (')])
    expect(notes(spec)[0]).toContain(path)
    expect(notes(spec)[0]).toContain('deletes in all its clusters what is not')
  })

  test('that only reads more often has nothing to say', () => expect(notes({ interval: '5m' })).toEqual([]))

  test('that is new has nothing to say', () =>
    expect(differenceOf(targets({}), targets({ hub: [source({})] })).flatMap(noteTexts)).toEqual([]))
})

describe('a cluster whose Cluster a commit takes out of the hub', () => {
  const cluster = (spec: object): KubeObject => ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'prod', namespace: 'kubenode-system' },
    spec,
  })
  const machines: KubeObject = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MachineSet',
    metadata: { name: 'workers' },
    spec: { replicas: 3, template: { spec: {} } },
  }
  const controlPlane = { flavor: 'embedded' }
  const removed = (spec: object, more: Readonly<Record<string, readonly KubeObject[]>> = { hub: [] }) =>
    differenceOf(targets({ hub: [cluster(spec)], prod: [machines] }), targets(more)).find((d) => d.cluster === 'prod')

  test.each([
    ['that has its control plane elsewhere', { kubeconfigSecretRef: { name: 'prod', key: 'kubeconfig' } }],
    ['that is orphaned', { controlPlane, deletionPolicy: 'Orphan' }],
    ['that is orphaned, as is the default', { controlPlane }],
  ])('keeps everything in a cluster %s', (_, spec) => {
    expect(removed(spec)).toMatchObject({
      isLeft: true,
      removed: 0,
      unchanged: 1,
      changes: [],
      machines: { deleted: 0 },
    })
  })

  test('loses everything with a control plane that is deleted, and what git no longer declares while the Cluster stays', () => {
    const deleted = { controlPlane, deletionPolicy: 'Delete' }
    expect(removed(deleted)).toMatchObject({ removed: 1, machines: { deleted: 3 } })
    const stays = removed({ controlPlane }, { hub: [cluster({ controlPlane })] })
    expect(stays).toMatchObject({ removed: 1, machines: { deleted: 3 } })
  })
})

describe('what the base declares, but not validly', () => {
  const pool = (name: string, replicas?: number): KubeObject => ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MachineSet',
    metadata: { name },
    spec: {
      ...defined({ replicas }),
      selector: { matchLabels: { pool: name } },
      template: { metadata: { labels: { pool: name } }, spec: { provider: { name: 'process' } } },
    },
  })
  const invalid = (...objects: readonly KubeObject[]): Targets =>
    new Map([['prod', { objects: [], rejected: objects.map((o) => ({ ref: refOf(o), problem: 'is wrong' })) }]])

  test('is removed by a commit without it: an earlier commit may have applied it', () => {
    const [d] = differenceOf(invalid(config('a', {}), pool('w', 5)), targets({ prod: [] }))
    expect(d?.changes.map((c) => [c.change, c.object])).toEqual([
      ['removed', 'ConfigMap/d/a'],
      ['removed', 'MachineSet.kubenode.io/w'],
    ])
    expect(d?.machines).toEqual({ deleted: 0, sets: [], single: [], uncounted: [{ set: 'w', why: 'Invalid' }] })
  })

  test('stays while it is declared, valid or not', () => {
    const both = differenceOf(invalid(pool('w', 5)), invalid(pool('w', 3)))
    expect(both[0]).toMatchObject({ changes: [], machines: { deleted: 0 } })
    const [fixed] = differenceOf(invalid(pool('w', 5)), targets({ prod: [pool('w', 3)] }))
    expect(fixed?.changes.map((c) => c.change)).toEqual(['added'])
    expect(fixed?.machines).toEqual({
      deleted: 0,
      sets: [],
      single: [],
      uncounted: [{ set: 'w', why: 'Invalid', to: 3 }],
    })
  })

  test('a set without replicas has as many machines as others gave it: what it loses is unknown', () => {
    const machinesOf = (before: readonly KubeObject[], after: readonly KubeObject[]) =>
      differenceOf(targets({ prod: before }), targets({ prod: after }))[0]?.machines
    const none = { deleted: 0, sets: [], single: [] }
    expect(machinesOf([pool('w')], [pool('w', 3)])).toEqual({
      ...none,
      uncounted: [{ set: 'w', why: 'NoReplicas', to: 3 }],
    })
    expect(machinesOf([pool('w')], [])).toEqual({ ...none, uncounted: [{ set: 'w', why: 'NoReplicas' }] })
    expect(machinesOf([pool('w')], [{ ...pool('w'), metadata: { name: 'w', labels: { a: 'b' } } }])).toEqual(none)
  })
})

test('a cluster whose Cluster is declared, but not validly, does not leave the fleet: what git no longer declares there is deleted', () => {
  const member: KubeObject = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'prod', namespace: 'kubenode-system' },
    spec: { kubeconfigSecretRef: { name: 'prod' } },
  }
  const before = targets({ hub: [member], prod: [config('a', {}), config('b', {})] })
  const after: Targets = new Map([['hub', { objects: [], rejected: [{ ref: refOf(member), problem: 'is wrong' }] }]])
  const prod = differenceOf(before, after).find((d) => d.cluster === 'prod')
  expect(prod).toMatchObject({ removed: 2 })
  expect(prod?.isLeft).toBeUndefined()
})
