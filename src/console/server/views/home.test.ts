// Tests the sentence of the home of a fleet in which nothing was declared.
import { expect, test } from 'vitest'
import type { TopicFamily } from '../../protocol.ts'
import { homeHead, type ReadableCluster } from './home.ts'

function clusterWith(lists: Readonly<Record<string, readonly object[]>>, topics: readonly TopicFamily[]) {
  const list = (kind: string) => lists[kind] ?? []
  const state = { name: 'hub', state: 'Connected', message: undefined, version: '1.36.2', list }
  return { state, topics: new Set(topics) } as unknown as ReadableCluster
}

const release = { metadata: { name: 'fleet-1' }, spec: {}, status: { phase: 'Succeeded' } }

test.each([
  ['without a release and a machine', {}, ['machines'], 'No release and no machine yet.'],
  ['with a release', { releases: [release] }, ['machines'], 'Nothing needs attention.'],
  ['whose machines may not be read', {}, ['pipeline'], 'Nothing needs attention.'],
] as const)('a fleet %s says so', (_, lists, topics, sentence) => {
  expect(homeHead([clusterWith(lists, topics)], []).sentence).toBe(sentence)
})
