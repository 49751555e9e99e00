import { describe, expect, test } from 'vitest'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import {
  chainOf,
  commitsAfter,
  previousOf,
  reachedBefore,
  releaseName,
  releasesToForget,
  sameDigests,
  standingIn,
} from './chain.ts'
import { defined } from '#lib/defined.ts'

const release = (name: string, previous?: string, status?: ReleaseStatus): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name, namespace: 'n', creationTimestamp: '2026-01-31T12:00:00Z' },
  spec: {
    source: 's',
    track: 't',
    pipeline: 'p',
    commit: 'c',
    digests: {},
    ...defined({ previous }),
  },
  ...defined({ status }),
})
const of = { source: 's', track: 't' }
const names = (all: readonly Release[]) => all.map((r) => r.metadata.name)

test('releases are put in order by what each names as the one before', () => {
  const all = [release('b', 'a'), release('c', 'b'), release('a')]
  expect(names(chainOf(all, of))).toEqual(['a', 'b', 'c'])
  expect(chainOf(all, { source: 's', track: 'other' })).toEqual([])
})

test('releases that name each other in a circle still come to an end', () => {
  expect(chainOf([release('a', 'b'), release('b', 'a'), release('c', 'b')], of).length).toBeLessThanOrEqual(3)
})

test('a chain whose start was forgotten begins later', () => {
  expect(names(chainOf([release('c', 'b'), release('d', 'c')], of))).toEqual(['c', 'd'])
})

test('the commits after a release are those of all tracks of its source, without what came before it in its own', () => {
  const made = (name: string, commit: string, second: number, more: object): Release => {
    const one = release(name)
    const creationTimestamp = `2026-01-31T12:00:0${second}Z`
    return { ...one, metadata: { ...one.metadata, creationTimestamp }, spec: { ...one.spec, commit, ...more } }
  }
  const own = made('b', 'two', 2, { previous: 'a' })
  const all = [
    made('a', 'one', 2, {}),
    own,
    made('c', 'three', 2, { previous: 'b' }),
    made('old', 'zero', 1, { track: 'fast' }),
    made('same', 'two', 2, { track: 'fast' }),
    made('new', 'four', 3, { track: 'fast' }),
    made('other', 'five', 3, { source: 'other' }),
  ]
  expect([...commitsAfter(all, own)].toSorted()).toEqual(['four', 'three'])
})

test('the same commit a second time gets a name of its own', () => {
  const taken = new Set(['t-0123456789ab', 't-0123456789ab-2'])
  expect(releaseName('t', '0123456789abcdef', () => false)).toBe('t-0123456789ab')
  expect(releaseName('t', '0123456789abcdef', (n) => taken.has(n))).toBe('t-0123456789ab-3')
})

const at = (phase: 'Healthy' | 'Waiting' | 'Applying'): ReleaseStatus => ({
  stages: [{ name: 'test', phase: phase === 'Healthy' ? 'Succeeded' : 'Progressing' }],
  clusters: [
    { name: 'x', stage: 'test', phase, digest: 'd', since: 's', ...(phase === 'Healthy' ? { healthySince: 'h' } : {}) },
  ],
})

test.each([
  [
    'it was healthy before',
    [release('a', undefined, at('Healthy')), release('b', 'a')],
    { digest: 'd', healthySince: 'h' },
  ],
  [
    'a release in between did not come to it',
    [release('a', undefined, at('Healthy')), release('b', 'a', at('Waiting')), release('c', 'b')],
    { digest: 'd', healthySince: 'h' },
  ],
  [
    'a release in between touched it',
    [release('a', undefined, at('Healthy')), release('b', 'a', at('Applying')), release('c', 'b')],
    undefined,
  ],
  ['there was none before', [release('a')], undefined],
])('what a cluster had: %s', (_, chain, wanted) => {
  expect(previousOf(chain, chain.at(-1) as Release, 'x')).toEqual(wanted)
})

test.each<[string, readonly Release[], string | undefined]>([
  [
    'of the last release that passed',
    [release('a', undefined, at('Healthy')), release('b', 'a', at('Healthy')), release('c', 'b', at('Waiting'))],
    'b',
  ],
  [
    'not of one that never came to it',
    [release('a', undefined, at('Healthy')), release('b', 'a', at('Waiting')), release('c', 'b', at('Waiting'))],
    'a',
  ],
  [
    'unknown where a release stopped halfway',
    [release('a', undefined, at('Healthy')), release('b', 'a', at('Applying')), release('c', 'b', at('Waiting'))],
    undefined,
  ],
  ['its own once it has begun', [release('a', undefined, at('Healthy')), release('b', 'a', at('Applying'))], undefined],
  ['none where it has nothing recorded', [release('a', undefined, at('Healthy')), release('b', 'a')], undefined],
  ['none in a new cluster', [release('a', undefined, at('Waiting'))], undefined],
])('what a cluster has while a release waits: %s', (_, chain, wanted) => {
  expect(standingIn(chain, chain.at(-1) as Release, 'x')?.metadata.name).toBe(wanted)
})

test('old releases go, but neither the newest nor one that is not over', () => {
  const over = (name: string, previous?: string) => release(name, previous, { phase: 'Superseded' })
  const chain = [
    over('a'),
    over('b', 'a'),
    release('c', 'b', { phase: 'Progressing' }),
    over('d', 'c'),
    release('e', 'd'),
  ]
  expect(names(releasesToForget(chain, 2))).toEqual(['a', 'b'])
  expect(names(releasesToForget(chain, 10))).toEqual([])
})

test('digests are the same when each is', () => {
  expect(sameDigests({ a: '1' }, { a: '1' })).toBe(true)
  expect(sameDigests({ a: '1' }, { a: '2' })).toBe(false)
  expect(sameDigests({ a: '1' }, { a: '1', b: '1' })).toBe(false)
})

describe('what reverts of a release go back to', () => {
  const one = (name: string, previous: string | undefined, phase: ReleaseStatus['phase'], after?: string): Release => {
    const made = release(name, previous, defined({ phase }))
    return { ...made, spec: { ...made.spec, commit: `commit-${name}`, ...defined({ after }) } }
  }
  const c = one('c', 'b', 'Paused', 'followed')

  test.each<[string, readonly Release[], string | undefined]>([
    ['the commit followed before, which may have no release', [one('b', undefined, 'Succeeded')], 'followed'],
    ['the same where nothing came before', [], 'followed'],
    [
      'the last commit that reached its clusters, if the one before failed as well',
      [one('a', undefined, 'Succeeded'), one('b', 'a', 'Superseded')],
      'commit-a',
    ],
    ['nothing that is known, if none did', [one('a', undefined, 'Superseded'), one('b', 'a', 'Superseded')], undefined],
  ])('%s', (_, earlier, commit) => {
    expect(reachedBefore([...earlier, c, one('d', 'c', 'Succeeded')], c)).toBe(commit)
  })
})
