import { describe, expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import type { KubeClient } from '#kube/client.ts'
import { nameOfKind } from '../../fleet/name-word.ts'
import { releaseCalled, releaseOrNewestOf } from '#explain/release/find-release.ts'

const release = (name: string, commit: string, spec: object = {}): Release =>
  ({ kind: 'Release', metadata: { name }, spec: { commit, ...spec } }) as unknown as Release
const ALL = [
  release('fleet-aaaaaaaaaaaa', 'a'.repeat(40)),
  release('machines-bbbbbbbbbbbb', 'b'.repeat(40)),
  release('rest-bbbbbbbbbbbb', 'b'.repeat(40)),
]
const client = {
  list: async () => ({ items: ALL, metadata: {} }),
  get: async (_: unknown, { name }: { readonly name: string }) => ALL.find((r) => r.metadata.name === name),
} as unknown as KubeClient

test.each([
  ['fleet-aaaaaaaaaaaa', 'fleet-aaaaaaaaaaaa'],
  ['release/fleet-aaaaaaaaaaaa', 'fleet-aaaaaaaaaaaa'],
  ['aaaaaaaaaaaa', 'fleet-aaaaaaaaaaaa'],
  [`release/${'a'.repeat(40)}`, 'fleet-aaaaaaaaaaaa'],
])('a release is found by its name and by its commit: %s', async (word, name) => {
  expect((await releaseCalled(client, nameOfKind('release')(word))).metadata.name).toBe(name)
})

test.each(['bbbbbbbbbbbb', 'aaaaaa', 'cccccccccccc'])(
  'a commit of two releases, a shorter start and an unknown commit are refused: %s',
  (word) => expect(releaseCalled(client, word)).rejects.toThrow(/^KN1313/),
)

describe('a track', () => {
  const older = release('app-aaaaaaaaaaaa', 'a'.repeat(40), { track: 'app' })
  const newer = release('app-bbbbbbbbbbbb', 'b'.repeat(40), { track: 'app', previous: 'app-aaaaaaaaaaaa' })
  const both = {
    list: async () => ({ items: [older, newer], metadata: {} }),
    get: async () => undefined,
  } as unknown as KubeClient

  test('is its newest release where that is only shown', async () => {
    expect((await releaseOrNewestOf(both, 'app')).metadata.name).toBe('app-bbbbbbbbbbbb')
  })

  test('is refused by what acts on a release, and the newest one is suggested', () =>
    expect(releaseCalled(both, 'app')).rejects.toThrow(/^KN1313: .*did you mean release\/app-bbbbbbbbbbbb\?/))
})
