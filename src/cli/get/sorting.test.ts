import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { sortPath, sortedBy } from './sorting.ts'

const object = (name: string, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'X',
  metadata: { name },
  ...more,
})
const objects = [object('b', { n: 10 }), object('c'), object('a', { n: 9 })]
const names = (path: string) => sortedBy(objects, sortPath(path)).map((o) => o.metadata.name)

test.each([
  ['.metadata.name', ['a', 'b', 'c']],
  ['metadata.name', ['a', 'b', 'c']],
  ['{.metadata.name}', ['a', 'b', 'c']],
  ['.n', ['c', 'a', 'b']],
  ['.nothing', ['b', 'c', 'a']],
])('by %s', (path, want) => expect(names(path)).toEqual(want))

test('what is no path is refused before any request', () => {
  expect(() => sortPath('.a[')).toThrow(/creationTimestamp/)
})
