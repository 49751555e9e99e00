import { expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import type { OtherCluster } from '#explain/with-hub.ts'
import { releasesKnown } from './releases-known.ts'

type Own = Parameters<typeof releasesKnown>[0]

const server = (...names: readonly string[]): Own =>
  ({ list: async () => ({ items: names.map((name) => ({ metadata: { name } })), resourceVersion: '1' }) }) as never
const refusing: Own = { list: () => Promise.reject(new Error('forbidden')) }
const context = (client: Own): OtherCluster => ({ context: 'x', read: (question) => question(client as never) })
const away: OtherCluster = { context: 'y', read: () => Promise.reject(new Error('away')) }

const namesOf = (releases: readonly Release[]) => releases.map((r) => r.metadata.name)

test.each<[string, Own, readonly OtherCluster[], readonly string[]]>([
  ['are those of the server', server('own'), [context(server('other'))], ['own']],
  ['are those of the hub where the server is a member', server(), [away, context(server('hub'))], ['hub']],
  ['are those of the hub where this user may not read them here', refusing, [context(server('hub'))], ['hub']],
  ['are none where no context has or shows some', refusing, [away, context(refusing)], []],
])('the releases that call commits by their titles %s', async (_, own, others, want) => {
  expect(namesOf(await releasesKnown(own, async () => others))).toEqual(want)
})

test('other contexts are not asked where the server itself has releases', async () => {
  await releasesKnown(server('own'), () => Promise.reject(new Error('asked')))
})
