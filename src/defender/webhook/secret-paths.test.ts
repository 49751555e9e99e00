import { expect, test } from 'vitest'
import { serviceReferenceProblems } from '#apiserver/schema/service-reference-problems.ts'
import {
  acceptedTokens,
  newToken,
  OVERLAP_MS,
  pathData,
  pathOf,
  pathsIn,
  type PathState,
  ROTATE_MS,
  rotatedPaths,
  SecretPaths,
  SPREAD_MS,
  tokenToName,
} from './secret-paths.ts'

test('S30 nothing but the accepted paths is a door', () => {
  const p = new SecretPaths()
  expect(p.doorOf('/token-1/admit')).toBeUndefined()
  p.accept(['token-1'])
  expect([p.doorOf('/token-1/admit'), p.doorOf('/token-1/deletions')]).toEqual(['kinds', 'deletions'])
  for (const path of ['', '/', '/admit', '/deletions', '/token-1', '/token-1/', '/token-2/admit', '/token-1/admit/'])
    expect(p.doorOf(path)).toBeUndefined()
  p.accept(['token-2', 'token-1'])
  expect([p.doorOf(pathOf('token-1', 'kinds')), p.doorOf(pathOf('token-2', 'events'))]).toEqual(['kinds', 'events'])
})

test('S30 a token cannot be guessed, and API servers accept it in the path of a Service', () => {
  expect(newToken()).toMatch(/^[0-9a-f]{64}$/)
  const service = { namespace: 'n', name: 's', path: pathOf(newToken(), 'certificates') }
  expect(serviceReferenceProblems(service, 'service')).toEqual([])
  expect(newToken()).not.toBe(newToken())
})

const NOW = Date.parse('2026-01-05T00:00:00Z')

function step(state: PathState | undefined, change: { now?: number; named?: string; knownMs?: number } = {}) {
  const { now = NOW, named, knownMs = 0 } = change
  return rotatedPaths(state, { now, named, newToken: () => 'made', knownMs: () => knownMs })
}

const state = (more: Partial<PathState> = {}): PathState => ({ token: 'a', since: NOW, ...more })

test.each<[string, PathState | undefined, Parameters<typeof step>[1], PathState]>([
  ['there is none yet', undefined, {}, { token: 'made', since: NOW }],
  ['it is young', state(), { now: NOW + ROTATE_MS - 1 }, state()],
  ['a day passed', state(), { now: NOW + ROTATE_MS }, state({ next: 'made' })],
  ['the clock was set back by a day', state(), { now: NOW - ROTATE_MS }, state({ next: 'made' })],
  ['the next one is not named yet', state({ next: 'b' }), { named: 'a', knownMs: SPREAD_MS }, state({ next: 'b' })],
  ['the next one is named', state({ next: 'b' }), { named: 'b' }, state({ token: 'b', previous: 'a' })],
  ['one from before is young', state({ previous: 'z' }), { knownMs: OVERLAP_MS - 1 }, state({ previous: 'z' })],
  ['one from before is old', state({ previous: 'z' }), { knownMs: OVERLAP_MS }, state()],
  [
    'a day passed, and one from before is still accepted',
    state({ previous: 'z' }),
    { now: NOW + ROTATE_MS },
    state({ previous: 'z' }),
  ],
])('S30 the path is replaced a step at a time: %s', (_, before, seen, after) => {
  const result = step(before, seen)
  expect(result).toEqual(after)
  expect(pathsIn(pathData(result))).toEqual(after)
})

test('S30 the configuration names a path only once every replica accepts it', () => {
  const rotating = state({ next: 'b' })
  expect(tokenToName(rotating, () => SPREAD_MS - 1)).toBe('a')
  expect(tokenToName(rotating, () => SPREAD_MS)).toBe('b')
  expect(acceptedTokens(state({ next: 'b', previous: 'z' }))).toEqual(['a', 'b', 'z'])
})
