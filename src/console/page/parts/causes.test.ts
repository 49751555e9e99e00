import { expect, test } from 'vitest'
import type { AttentionRow } from '../../topics.ts'
import { causesOf, waysOf } from './causes.ts'

const row = (id: string, more: Partial<AttentionRow> = {}): AttentionRow => ({
  id,
  cause: id,
  object: { cluster: 'test', kind: 'Node', name: id },
  weight: 'Act',
  rank: 1,
  text: id,
  ...more,
})
const commit = { commit: 'c0ffee' }

test('what one commit brought is one cause, told by the row that knows most', () => {
  const release = row('r', { object: { cluster: 'hub', kind: 'Release', name: 'r' }, commit, since: 5 })
  const set = row('s', { title: 'beacon 1.2.0 fails its probe on n-3', commit, since: 7, stops: ['set base in test'] })
  const [only, ...others] = causesOf([release, set])
  expect(others).toEqual([])
  expect(only).toMatchObject({ first: set, others: [release], since: 5, clusters: ['test', 'hub'] })
})

test('the same cause in several clusters is one; different causes are apart, the oldest first', () => {
  const in2 = row('b', { cause: 'a', object: { cluster: 'prod', kind: 'Node', name: 'b' }, since: 2 })
  expect(
    causesOf([row('a', { since: 3 }), in2, row('c', { since: 1 })]).map(({ first, others }) => [
      first.id,
      others.length,
    ]),
  ).toEqual([
    ['c', 0],
    ['b', 1],
  ])
})

test('what a person set long ago comes after what is worse, and so does what has no time', () => {
  const cordon = row('cordon', { rank: 3 })
  const old = row('old', { rank: 3, since: 1 })
  expect(causesOf([cordon, old, row('blocked', { since: 9 })]).map(({ id }) => id)).toEqual([
    'blocked',
    'cordon',
    'old',
  ])
})

test('two commands of a wait are two ways, the first alone', () => {
  expect(
    waysOf({ text: 'git revert --no-edit c0ffee && git push; to retry, kubenode rollout retry base', isCommand: true }),
  ).toEqual([
    { text: 'git revert --no-edit c0ffee && git push', isCommand: true },
    { text: 'kubenode rollout retry base', isCommand: true, does: 'retry' },
  ])
  expect(waysOf({ text: 'stage test succeeds', isCommand: false })).toEqual([
    { text: 'stage test succeeds', isCommand: false },
  ])
})
