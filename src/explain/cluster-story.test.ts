import { expect, test } from 'vitest'
import { lifetimeStory, removalStory } from './cluster-story.ts'
import { linesOf } from './finding.ts'

const NOW = Date.parse('2026-11-25T12:00:00Z')
const cluster = (metadata: object = {}) =>
  ({ metadata: { namespace: 'fleet', name: 'one', ...metadata }, spec: { deletionPolicy: 'Delete' } }) as never
const held = { digest: 'sha256:ab', first: 'Cluster.kubenode.io/fleet/zero', clusters: ['fleet/zero', 'fleet/one'] }
const source = { status: { prunes: [{ name: 'all', held }] } } as never
const texts = (...given: Parameters<typeof removalStory>) => removalStory(...given).map(({ text }) => text)

test('a Cluster that is deleted, or that git no longer declares, says so', () => {
  expect(texts(cluster({ deletionTimestamp: '2026-11-25T11:58:00Z' }), {}, NOW)).toEqual([
    'Deleted 2m ago: its control plane is removed after a final snapshot (deletionPolicy Delete)',
  ])
  const isHeld = ['git no longer declares it; the prune guard holds its deletion']
  expect(texts(cluster(), { source }, NOW)).toEqual(isHeld)
  expect(texts(cluster({ name: 'one-2' }), { source }, NOW)).toEqual([])
  expect(texts(cluster({ namespace: 'other' }), { source }, NOW)).toEqual([])
  expect(texts(cluster(), {}, NOW)).toEqual([])
  // If the hub is a stage of the pipeline, its Release includes the hub.
  const release = {
    metadata: { name: 'r' },
    spec: { source: 's', track: 't' },
    status: { clusters: [{ name: 'hub', prune: held }] },
  } as never
  expect(texts(cluster(), { releases: [release] }, NOW)).toEqual(isHeld)
})

const lived = (status: object, metadata = {}) =>
  ({
    metadata: { namespace: 'fleet', name: 'one', ...metadata },
    spec: { ttl: '8h', deletionPolicy: 'Delete' },
    status: { expiresAt: '2026-11-25T11:30:00Z', ...status },
  }) as never

test('a Cluster whose time to live is over says what happened, and what starts it again or ends it', () => {
  const [story] = lifetimeStory(lived({ phase: 'Expired' }), NOW)
  expect(story && linesOf(story)).toEqual([
    'Expired 30m ago: its time to live (8h) ended on Wed 25 Nov at 11:30 UTC',
    '  its control plane is stopped and keeps its data, until it is started again or deleted',
    '  git still declares it: a commit that removes it deletes it, with its machines, after a final snapshot',
    '  to start it again: kubenode cluster extend one --for 2h --reason WHY',
  ])
  expect(lifetimeStory(lived({ phase: 'Expired' }, { deletionTimestamp: 'now' }), NOW)).toEqual([])
})

test('one that expires soon says when, and what keeps it', () => {
  const conditions = [{ type: 'Expiring', status: 'True' }]
  const soon = lived({ phase: 'Ready', expiresAt: '2026-11-25T12:30:00Z', conditions })
  expect(lifetimeStory(soon, NOW)).toMatchObject([
    { text: 'Expires in 30m, at 2026-11-25T12:30:00Z: its control plane is stopped then' },
  ])
  expect(lifetimeStory(lived({ phase: 'Ready', expiresAt: '2026-11-25T12:30:00Z' }), NOW)).toEqual([])
})
