// What happens to branches, and to names that a hostile author chose for them.
import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { followingBranch, isUsable, previewCluster, previewName, previewsOf, templateProblem } from './branches.ts'
import { holderOf, planPreviews, shownPreviews, waitsForRoom, type PreviewsSeen, type PreviewStatus } from './plan.ts'

const KEY = 'fleet/main'
const COMMIT = 'a'.repeat(40)

const nameOf = (branch: string, key = KEY): string => previewName(key, { branch, only: undefined })

const source = (previews: readonly PreviewStatus[] = [], max = 2) =>
  ({
    metadata: { namespace: 'fleet', name: 'main' },
    spec: {
      ref: { branch: 'preview/trunk' },
      previews: { branches: 'preview/*', template: 'dev', ttl: '4h', max },
      decryption: { provider: 'sops' },
      push: {},
      requirePlan: true,
      verify: { mode: 'All', anchor: COMMIT },
    },
    status: { previews },
  }) as unknown as FleetSource

const clusterOf = (branch: string, more: object = {}): Cluster => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Cluster',
  metadata: {
    namespace: 'fleet',
    name: nameOf(branch),
    annotations: { [ANNOTATIONS.previewOf]: KEY, [ANNOTATIONS.previewBranch]: branch },
    ...more,
  },
  spec: { deletionPolicy: 'Delete' },
})

const planned = (seen: Partial<PreviewsSeen> & { readonly branches?: readonly string[] } = {}) =>
  planPreviews({
    source: source(),
    heads: new Map((seen.branches ?? []).map((b) => [b, COMMIT])),
    own: [],
    problem: undefined,
    names: new Set(),
    ...seen,
  })

describe('the name of a branch', () => {
  test.each([
    'preview/../../hub',
    'preview/a..b',
    `preview/${'x'.repeat(300)}`,
    'preview/a.lock',
    'preview/a b',
    'preview/\u001b[31m',
    'preview//a',
    'preview/.a',
    'preview/a/',
    '-preview/a',
    '',
  ])('%j is not used', (branch) => {
    expect(isUsable(branch)).toBe(false)
    expect(planned({ branches: [branch] })).toMatchObject({ begin: [], keep: [], idle: [] })
  })

  test('becomes a short name of plain characters, whatever it is', () => {
    for (const branch of ['preview/Feature_ONE', 'preview/ü', `preview/${'x'.repeat(300)}`, '', '../..', 'preview/---'])
      expect(nameOf(branch)).toMatch(/^pv-[a-z0-9]([-a-z0-9]{0,36}[a-z0-9])?$/)
  })

  test('is told apart from one that reads alike, and from the same one of another source', () => {
    const names = ['preview/a-b', 'preview/A-b', 'preview/a_b', 'preview/a/b', 'preview/a.b'].map((b) => nameOf(b))
    expect(new Set([...names, nameOf('preview/a-b', 'fleet/other')]).size).toBe(6)
  })

  test('that leads to the name of another Cluster gets none, and leaves that one alone', () => {
    const names = new Set([nameOf('preview/a')])
    const plan = planned({ branches: ['preview/a'], names })
    expect(plan).toMatchObject({ begin: [], remove: [], idle: [{ phase: 'Refused' }] })
  })
})

describe('a branch', () => {
  test('gets a cluster while there is room', () => {
    const plan = planned({ branches: ['preview/b', 'preview/a', 'preview/c'] })
    expect(plan.begin.map((b) => b.branch)).toEqual(['preview/a', 'preview/b', 'preview/c'])
    expect(plan.room).toBe(2)
  })

  test('waits when as many clusters run as may, those included that are being deleted', () => {
    const leaving = clusterOf('preview/old', { deletionTimestamp: '2026-01-01T00:00:00Z' })
    const plan = planned({ branches: ['preview/a', 'preview/b'], own: [clusterOf('preview/a'), leaving] })
    expect(plan.room).toBe(0)
    expect(plan.keep).toMatchObject([{ branch: 'preview/a' }])
    expect(plan.remove).toEqual([])
  })

  test('that waits for room says whose clusters take it', () => {
    const leaving = clusterOf('preview/old', { deletionTimestamp: '2026-01-01T00:00:00Z' })
    const holders = [clusterOf('preview/a'), leaving].map(holderOf)
    expect(waitsForRoom({ branch: 'preview/b', commit: COMMIT }, 2, holders).message).toMatch(
      /^2 previews at most, now preview\/a, preview\/old \(is being deleted\): waits until /,
    )
  })

  test('that is gone takes its cluster with it, also one that is still being made', () => {
    const making = { ...clusterOf('preview/a'), status: { phase: 'Creating' } } as Cluster
    expect(planned({ own: [making] }).remove).toEqual([making])
  })

  test('whose cluster has ended gets no second one', () => {
    const ended: PreviewStatus = {
      branch: 'preview/a',
      commit: COMMIT,
      cluster: nameOf('preview/a'),
      phase: 'Ready',
      message: '',
    }
    const plan = planned({ source: source([ended]), branches: ['preview/a'] })
    expect(plan).toMatchObject({ begin: [], idle: [{ phase: 'Expired', cluster: nameOf('preview/a') }] })
  })

  test('that the source follows is none of them', () => {
    expect(planned({ branches: ['preview/trunk'] }).begin).toEqual([])
  })

  test('gets no cluster when as many are listed as a status has room for', () => {
    const branches = Array.from({ length: 40 }, (_, i) => `preview/${i}`)
    const ended = branches
      .slice(0, 32)
      .map((branch): PreviewStatus => ({ branch, cluster: nameOf(branch), phase: 'Expired', message: '' }))
    const plan = planned({ source: source(ended), branches })
    expect(plan.room).toBe(0)
    const waiting = branches.slice(32).map((branch): PreviewStatus => ({ branch, phase: 'Waiting', message: '' }))
    expect(shownPreviews([...waiting, ...plan.idle]).every((p) => p.phase === 'Expired')).toBe(true)
  })
})

describe('a commit with a cluster of its own', () => {
  const NEXT = 'b'.repeat(40)
  const byCommit = (previews: readonly PreviewStatus[] = []) => {
    const { spec, ...rest } = source(previews)
    return { ...rest, spec: { ...spec, previews: { ...spec.previews, mode: 'Commit' } } } as FleetSource
  }
  const nameAt = (commit: string) => previewName(KEY, { branch: 'preview/a', only: commit })
  const clusterAt = (commit: string) =>
    clusterOf('preview/a', {
      name: nameAt(commit),
      annotations: {
        [ANNOTATIONS.previewOf]: KEY,
        [ANNOTATIONS.previewBranch]: 'preview/a',
        [ANNOTATIONS.previewCommit]: commit,
      },
    })
  const at = (commit: string, more: Partial<PreviewsSeen> = {}) =>
    planned({ source: byCommit(), heads: new Map([['preview/a', commit]]), ...more })

  test('keeps it while it is the newest, and gives way to the next one', () => {
    expect(at(COMMIT, { own: [clusterAt(COMMIT)] })).toMatchObject({
      keep: [{ commit: COMMIT }],
      remove: [],
      begin: [],
    })
    const moved = at(NEXT, { own: [clusterAt(COMMIT)] })
    expect(moved.begin).toEqual([{ branch: 'preview/a', commit: NEXT }])
    expect(moved.remove.map((c) => c.metadata.name)).toEqual([nameAt(COMMIT)])
  })

  test('gets no second one when it has ended, but the next commit gets its own', () => {
    const ended: PreviewStatus = {
      branch: 'preview/a',
      commit: COMMIT,
      cluster: nameAt(COMMIT),
      phase: 'Ready',
      message: '',
    }
    expect(at(COMMIT, { source: byCommit([ended]) }).idle).toMatchObject([{ phase: 'Expired' }])
    expect(at(NEXT, { source: byCommit([ended]) }).begin).toHaveLength(1)
  })

  test('gives its cluster back when the mode changes', () => {
    const plan = planned({ branches: ['preview/a'], own: [clusterAt(COMMIT)] })
    expect(plan).toMatchObject({ begin: [{ branch: 'preview/a' }], remove: [{ metadata: { name: nameAt(COMMIT) } }] })
  })
})

describe('a preview', () => {
  const template = (more: object = {}): Cluster => ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'dev', namespace: 'fleet', annotations: { [ANNOTATIONS.source]: KEY } },
    spec: {
      version: '1.36.0',
      stage: 'dev',
      controlPlane: {
        flavor: 'embedded',
        endpoint: { port: 6443 },
        snapshot: 'now',
        restore: { snapshot: 'now', attempt: 1 },
      },
      deletionPolicy: 'Orphan',
      ...more,
    },
  })

  test('is like the template, without what only that one can have, and ends', () => {
    const { spec, metadata } = previewCluster(source(), { branch: 'preview/a', only: undefined }, template())
    expect(spec).toEqual({
      version: '1.36.0',
      stage: 'dev',
      controlPlane: { flavor: 'embedded' },
      deletionPolicy: 'Delete',
      ttl: '4h',
    })
    expect(metadata.namespace).toBe('fleet')
  })

  test('gets no programs of the hub, with its providers, where the template has none', () => {
    const { spec } = previewCluster(source(), { branch: 'preview/a', only: undefined }, template({ programs: 'None' }))
    expect(spec).toMatchObject({ programs: 'None' })
  })

  test('is not made from a Cluster that the followed commit does not declare', () => {
    expect(templateProblem(source(), template())).toBeUndefined()
    expect(templateProblem(source(), undefined)).toContain('not on the hub')
    const foreign = { ...template(), metadata: { name: 'dev', namespace: 'fleet' } }
    expect(templateProblem(source(), foreign)).toContain('not declared by this source')
    expect(templateProblem(source(), template({ controlPlane: undefined }))).toContain('no control plane')
  })

  test('is no Cluster that git declares, nor one of another namespace, whatever it claims', () => {
    const declared = clusterOf('preview/a')
    const annotations = { ...declared.metadata.annotations, [ANNOTATIONS.source]: KEY }
    const other = clusterOf('preview/a', { namespace: 'shop' })
    const own = clusterOf('preview/a')
    expect(previewsOf([{ ...declared, metadata: { ...declared.metadata, annotations } }, other, own], KEY)).toEqual([
      own,
    ])
  })

  test('follows its branch with the trust of the source, and has neither its keys nor its right to push', () => {
    const { spec, status } = followingBranch(source(), 'preview/a')
    expect(spec).toMatchObject({ ref: { branch: 'preview/a' }, verify: { mode: 'All', anchor: COMMIT } })
    for (const field of ['decryption', 'push', 'requirePlan', 'previews']) expect(spec).not.toHaveProperty(field)
    expect(status).toBeUndefined()
  })
})
