import { expect, test } from 'vitest'
import { removalStory } from './cluster-story.ts'

const NOW = Date.parse('2026-11-25T12:00:00Z')
const cluster = (metadata: object = {}) =>
  ({ metadata: { namespace: 'fleet', name: 'one', ...metadata }, spec: { deletionPolicy: 'Delete' } }) as never
const source = (first: string) =>
  ({ status: { prunes: [{ name: 'all', held: { digest: 'sha256:ab', first } }] } }) as never
const texts = (...given: Parameters<typeof removalStory>) => removalStory(...given).map(({ text }) => text)

test('a Cluster that is deleted, or that git no longer declares, says so', () => {
  expect(texts(cluster({ deletionTimestamp: '2026-11-25T11:58:00Z' }), undefined, NOW)).toEqual([
    'Deleted 2m ago: its control plane is removed after a final snapshot (deletionPolicy Delete)',
  ])
  expect(texts(cluster(), source('Cluster.kubenode.io/fleet/one'), NOW)).toEqual([
    'git no longer declares it; the prune guard holds its deletion',
  ])
  expect(texts(cluster(), source('Cluster.kubenode.io/fleet/one-2'), NOW)).toEqual([])
  expect(texts(cluster(), undefined, NOW)).toEqual([])
})
