import { expect, test } from 'vitest'
import { isWithin } from './paths.ts'

test.each([
  ['fleet/a.ts', 'fleet/a.ts', true],
  ['fleet/a.ts', 'fleet/**', true],
  ['fleet/x/y/a.ts', 'fleet/**', true],
  ['fleet', 'fleet/**', true],
  ['fleets/a.ts', 'fleet/**', false],
  ['x/fleet/a.ts', 'fleet/**', false],
  ['a/b/c.ts', '**/c.ts', true],
  ['c.ts', '**/c.ts', true],
  ['fleet/a.ts', 'fleet/*', true],
  ['fleet/x/a.ts', 'fleet/*', false],
  ['fleet/a.ts', 'fleet/*.ts', true],
  ['fleet/.ts', 'fleet/*.ts', true],
  ['fleet/a.tsx', 'fleet/*.ts', false],
  ['fleet/a+b.ts', 'fleet/a.b.ts', false],
  ['Fleet/a.ts', 'fleet/**', false],
  ['fleet/a/b', 'fleet/**/b', true],
  ['fleet/b', 'fleet/**/b', true],
  ['anything/at/all', '**', true],
])('%s in %s: %s', (path, pattern, is) => {
  expect(isWithin(path, [pattern])).toBe(is)
})

test('a pattern that makes other matchers slow is as quick as any', () => {
  expect(isWithin('a'.repeat(200), [`${'*a'.repeat(100)}b`])).toBe(false)
  expect(isWithin(Array.from({ length: 100 }, () => 'a').join('/'), [`${'**/'.repeat(60)}b`])).toBe(false)
})
