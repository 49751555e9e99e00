import { expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Inventory } from '#api/kinds/inventory.ts'
import type { Release } from '#api/kinds/release.ts'
import { retiredTracks } from './retired-tracks.ts'

const source = {
  metadata: { namespace: 'ops', name: 'fleet' },
  spec: { tracks: [{ name: 'rest', pipelineRef: { name: 'standard' } }] },
} as unknown as FleetSource

interface Made {
  readonly of?: string
  readonly namespace?: string
  readonly pipeline?: string
  readonly at?: string
}
const release = (track: string, { of = 'fleet', namespace = 'ops', pipeline = 'standard', at = '01' }: Made = {}) =>
  ({
    metadata: { name: `${track}-${at}`, namespace, creationTimestamp: `2026-01-${at}T00:00:00Z` },
    spec: { source: of, track, pipeline, commit: 'c', digests: {} },
  }) as unknown as Release
const shard = (of: string, track: string, refs: readonly object[] = [{}]) =>
  ({ spec: { source: of, track, refs } }) as unknown as Pick<Inventory, 'spec'>

test('a track of the source is not retired, and one with Releases that it lacks is', () => {
  const releases = [release('rest'), release('machines')]
  expect(retiredTracks(source, releases, [])).toEqual([{ name: 'machines', pipeline: 'standard' }])
})

test('a track that had objects on the hub only is found by its Inventory, until nothing is left', () => {
  expect(retiredTracks(source, [], [shard('ops/fleet', 'hub')])).toEqual([{ name: 'hub', pipeline: undefined }])
  expect(retiredTracks(source, [], [shard('ops/fleet', 'hub', [])])).toEqual([])
})

test('S27 tracks of other sources are not touched', () => {
  const releases = [release('machines', { of: 'shop' }), release('machines', { namespace: 'shop' })]
  expect(retiredTracks(source, releases, [shard('shop/fleet', 'hub'), shard('ops/shop', 'hub')])).toEqual([])
})
