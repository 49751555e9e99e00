import { describe, expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import { desiredOf, type RenderedTarget, type Targets } from '#delivery/desired.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'
import { targetDigest } from './tracks.ts'
import { hasHadTurn, ofCluster, ofHub, withTurns } from './turns.ts'

const clusterOf = (name: string, spec: object, namespace = 'fleet'): KubeObject => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name, namespace },
  spec,
})
const note: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'note', namespace: 'default' } }
const hosted = (version: string, stage?: string) => ({
  version,
  controlPlane: { flavor: 'embedded' },
  ...defined({ stage }),
})
const target = (...objects: readonly KubeObject[]): RenderedTarget => ({
  objects: objects.map(desiredOf),
  rejected: [],
})
const turns = (targets: Readonly<Record<string, RenderedTarget>>, had: readonly string[] = []): Targets =>
  withTurns(new Map(Object.entries(targets)), { namespace: 'fleet', had: (name) => had.includes(name) })
const digests = (targets: Targets) => Object.fromEntries([...targets].map(([name, t]) => [name, targetDigest(t)]))

describe('the Cluster of a cluster', () => {
  test.each<[string, KubeObject, readonly string[], boolean]>([
    ['with a control plane and a stage', clusterOf('a', hosted('1.35.1', 'test')), [], true],
    ['with a control plane and no stage', clusterOf('a', hosted('1.35.1')), [], true],
    ['with objects of its own', clusterOf('b', hosted('1.35.1')), [], true],
    ['that the Release before had, and that lost its stage', clusterOf('a', hosted('1.35.1')), ['a'], true],
    ['that is registered and gets nothing', clusterOf('a', { kubeconfigSecretRef: {}, stage: 'test' }), [], false],
    ['of another namespace', clusterOf('a', hosted('1.35.1', 'test'), 'elsewhere'), [], false],
  ])('%s', (_, object, had, isIn) => {
    const all = turns({ hub: target(object), b: target(note) }, had)
    expect(
      ofCluster(object.metadata.name ?? '', all.get(object.metadata.name ?? '') ?? target()).plane !== undefined,
    ).toBe(isIn)
  })

  test('changes the digest of its cluster, and of no other and not of the hub', () => {
    const fleet = (version: string) =>
      digests(
        turns({
          hub: target(note, clusterOf('a', hosted(version, 'test')), clusterOf('b', hosted('1.35.1', 'prod'))),
          a: target(note),
        }),
      )
    const [before, after] = [fleet('1.35.1'), fleet('1.36.0')]
    expect(Object.keys(before)).toEqual(['hub', 'a', 'b'])
    expect(after).toEqual({ ...before, a: after['a'] })
    expect(after['a']).not.toBe(before['a'])
  })

  test('that is new, or gone, is other content of the hub', () => {
    const one = turns({ hub: target(clusterOf('a', hosted('1.35.1', 'test'))) })
    const two = turns({
      hub: target(clusterOf('a', hosted('1.35.1', 'test')), clusterOf('b', hosted('1.35.1', 'test'))),
    })
    expect(digests(one)['hub']).not.toBe(digests(two)['hub'])
  })

  test('is skipped on the hub until its turn, with its entry, and applied as declared then', () => {
    const own = clusterOf('a', hosted('1.36.0', 'test'))
    const all = turns({ hub: target(note, own), a: target(note) })
    const waiting = ofHub(all, 'fleet', () => false)
    const [ref] = target(own).objects.map((o) => o.ref)
    expect(waiting.target).toEqual(target(note))
    expect(ref !== undefined && waiting.skips(ref)).toBe(true)
    const due = ofHub(all, 'fleet', () => true)
    expect(due.target).toEqual(target(note, own))
    expect(ref !== undefined && due.skips(ref)).toBe(false)
    expect(ofCluster('a', all.get('a') ?? target()).content).toEqual(target(note))
  })
})

test.each<[string, object, boolean]>([
  ['the cluster was begun', { name: 'a', phase: 'Applying' }, false],
  ['it failed', { name: 'a', phase: 'Failed' }, false],
  ['it is healthy', { name: 'a', phase: 'Healthy' }, true],
  ['it waits', { name: 'a', phase: 'Waiting' }, false],
  ['it waits again, and has what was applied', { name: 'a', phase: 'Waiting', attempts: 1 }, true],
  ['another one was begun', { name: 'b', phase: 'Healthy' }, false],
])('has had its turn: %s', (_, status, has) => {
  const release = { spec: { digests: { a: 'd' } }, status: { clusters: [status] } } as unknown as Release
  expect([hasHadTurn(release, 'a', 'd'), hasHadTurn(release, 'a', 'e'), hasHadTurn(undefined, 'a', 'd')]).toEqual([
    has,
    false,
    false,
  ])
})
