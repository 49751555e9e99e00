import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { release as releaseKind, type Release } from '#api/kinds/release.ts'
import { releasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { UNDISTURBED } from '#test/support/fleets/undisturbed.ts'
import { planRelease } from '../release/stages.ts'
import { HUB } from '../release/tracks.ts'
import type { HubCaches } from './shared.ts'
import { seenCluster } from './release-apply.ts'
import type { Work } from './release-work.ts'

const NAMES = ['prod', 'test']
const clusterOf = (name: string): Cluster => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name, namespace: 'n', uid: name },
  spec: { stage: name, deletionPolicy: 'Delete' },
})
const stages = NAMES.toReversed().map((name) => ({
  name,
  clusters: { selector: { matchLabels: { 'kubenode.io/stage': name } } },
}))
const { spec } = applyDefaults(releasePipeline.schema, { spec: { stages } }) as { readonly spec: ReleasePipelineSpec }
const release: Release = {
  ...releaseKind.example,
  metadata: { name: 'r', namespace: 'n' },
  spec: { ...releaseKind.example.spec, digests: { prod: 'p', test: 't' } },
}

/** The first pass of a Release, with a cache that has these Clusters. */
function stagesWith(cached: readonly string[], declared: readonly string[]): readonly string[] {
  const cache = { get: ({ name }: { name: string }) => (cached.includes(name) ? clusterOf(name) : undefined) }
  const work = { release, pipeline: { spec } } as Work
  const clusters = new Map(
    Object.entries(release.spec.digests).map(([name, digest]) => [
      name,
      seenCluster(cache as HubCaches['clusters'], work, [release], {
        name,
        digest,
        reports: new Map(),
        returns: new Set(),
        declared: declared.includes(name) ? clusterOf(name) : undefined,
      }),
    ]),
  )
  const { status } = planRelease({ release, pipeline: spec, clusters, ...UNDISTURBED }, 0)
  return (status.stages ?? []).map((s) => `${s.name} ${s.phase}`)
}

test('a stage whose new Cluster is not in the cache yet is not skipped', () => {
  expect(stagesWith(NAMES, NAMES)).toEqual(['test Progressing', 'prod Waiting'])
  expect(stagesWith(['prod'], NAMES)).toEqual(['test Progressing', 'prod Waiting'])
})

test('a Cluster that nobody declares and that is gone holds up no stage', () => {
  expect(stagesWith(['prod'], ['prod'])).toEqual(['test Skipped', 'prod Progressing'])
})

test('a Cluster that itself waits for a later stage of the hub holds up no stage before that', () => {
  const ofHub = { ...spec.stages[0], name: 'hub', clusters: { hub: true as const } }
  const pipeline = { spec: { ...spec, stages: [...spec.stages, ofHub] } as ReleasePipelineSpec }
  const staged: Release = { ...release, spec: { ...release.spec, digests: { ...release.spec.digests, [HUB]: 'h' } } }
  const cache = { get: ({ name }: { name: string }) => (name === 'prod' ? clusterOf(name) : undefined) }
  const seen = (name: string, now: Release) =>
    seenCluster(cache as HubCaches['clusters'], { release: now, pipeline } as Work, [now], {
      name,
      digest: now.spec.digests[name] ?? '',
      reports: new Map(),
      returns: new Set(),
      declared: name === HUB ? undefined : clusterOf(name),
    })
  const clusters = new Map(Object.keys(staged.spec.digests).map((name) => [name, seen(name, staged)]))
  const { status } = planRelease({ release: staged, pipeline: pipeline.spec, clusters, ...UNDISTURBED }, 0)
  const phases = (status.stages ?? []).map((s) => `${s.name} ${s.phase}`)
  expect(phases).toEqual(['test Skipped', 'prod Progressing', 'hub Waiting'])
  const hub = { name: HUB, stage: 'hub', phase: 'Healthy' as const, since: '1970-01-01T00:00:00Z' }
  expect(seen('test', { ...staged, status: { clusters: [hub] } }).labels).toEqual({ 'kubenode.io/stage': 'test' })
})
