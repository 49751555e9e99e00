import { describe, expect, test } from 'vitest'
import { violations, type Data, type Entry, type Seen, type Write } from './api-history.ts'

const D = (v: string) => ({ v })
const write = (at: number, revision: number, data: NonNullable<Data>, more: Partial<Write> = {}): Write => ({
  is: 'write',
  key: 'k',
  intent: { kind: 'put', data },
  began: at,
  ended: at + 1,
  outcome: { revision, data },
  ...more,
})
const read = (at: number, found: { revision: number; data: Data } | undefined): Entry => ({
  is: 'read',
  key: 'k',
  began: at,
  ended: at + 1,
  found,
})
const seen = (at: number, type: Seen['type'], revision: number, data: Data): Seen => ({
  at,
  type,
  key: 'k',
  revision,
  data,
})
const watch = (from: number, ...events: readonly Seen[]): Entry => ({ is: 'watch', from, events })
const list = (at: number, revision: number, ...items: readonly (readonly [number, string])[]): Entry => ({
  is: 'list',
  began: at,
  ended: at + 1,
  revision,
  items: items.map(([r, v]) => ({ key: 'k', revision: r, data: D(v) })),
})

const [one, two, three] = [write(0, 1, D('a')), write(2, 2, D('b')), write(4, 3, D('c'))]

describe('a history that one honest server could have given', () => {
  test.each<[string, readonly Entry[]]>([
    [
      'writes and reads in turn',
      [one, read(1.5, { revision: 1, data: D('a') }), two, read(4, { revision: 2, data: D('b') })],
    ],
    [
      'a read at the same time as a write may see either',
      [one, two, read(2.5, { revision: 1, data: D('a') }), read(2.6, { revision: 2, data: D('b') })],
    ],
    ['a complete watch', [one, two, three, watch(1, seen(3, 'MODIFIED', 2, D('b')), seen(5, 'MODIFIED', 3, D('c')))]],
    [
      'a write of unknown outcome may be there',
      [one, write(2, 0, D('x'), { outcome: 'unknown' }), read(4, { revision: 2, data: D('x') })],
    ],
    [
      'a write of unknown outcome that only a patch over it shows',
      [
        one,
        write(2, 0, { c: 'x' }, { outcome: 'unknown' }),
        write(5, 3, { c: 'x', p: 'y' }, { intent: { kind: 'patch', data: { p: 'y' } } }),
      ],
    ],
    [
      'a deletion that only a list shows, before a crash',
      [one, write(2, 0, D('x'), { intent: { kind: 'delete' }, outcome: 'unknown' }), list(5, 4)],
    ],
    [
      'a deletion that only a list shows, after another list that still had it',
      [
        one,
        write(2, 0, D('x'), { intent: { kind: 'delete' }, outcome: 'unknown' }),
        list(3.5, 4, [1, 'a']),
        list(6, 6),
      ],
    ],
    [
      'an unacknowledged deletion right before a crash, of a key that was created and deleted again later',
      [
        one,
        watch(0, seen(1, 'ADDED', 1, D('a'))),
        write(2, 0, D('x'), { intent: { kind: 'delete' }, outcome: 'deleted' }),
        write(2.5, 0, D('b'), { intent: { kind: 'create', data: D('b') }, outcome: 'unknown' }),
        list(10, 3, [3, 'b']),
        write(12, 0, D('x'), { intent: { kind: 'delete' }, outcome: 'deleted' }),
        watch(3, seen(13, 'DELETED', 4, D('b'))),
      ],
    ],
    ['a list of the past is not late when nothing was known', [one, list(1.5, 1, [1, 'a'])]],
  ])('%s', (_, history) => expect(violations(history)).toEqual([]))
})

describe('a history that none could', () => {
  test.each<[string, RegExp, readonly Entry[]]>([
    [
      'an acknowledged write is not read',
      /read at 1 when 2 was known/,
      [one, two, read(5, { revision: 1, data: D('a') })],
    ],
    ['an acknowledged write is gone', /not found when 1 was known/, [one, read(5, undefined)]],
    [
      'what one has read, another no longer sees',
      /read at 1 when 2 was known/,
      [
        one,
        write(2, 0, D('b'), { outcome: 'unknown' }),
        read(4, { revision: 2, data: D('b') }),
        read(6, { revision: 1, data: D('a') }),
      ],
    ],
    ['a revision goes back', /was given 2 when 3 was known/, [one, write(2, 3, D('b')), write(4, 2, D('c'))]],
    ['a revision is given twice', /to one and .* to another/, [one, write(2, 1, D('b'))]],
    ['a watch leaves a change out', /missed k at 2/, [one, two, three, watch(1, seen(5, 'MODIFIED', 3, D('c')))]],
    ['a bookmark is ahead of a change', /missed k at 2/, [one, two, watch(1, seen(5, 'BOOKMARK', 2, undefined))]],
    [
      'a watch shows a change twice',
      /at 2 after 2/,
      [one, two, watch(1, seen(3, 'MODIFIED', 2, D('b')), seen(4, 'MODIFIED', 2, D('b')))],
    ],
    [
      'a watch shows changes in the wrong order',
      /at 2 after 3/,
      [one, two, three, watch(1, seen(5, 'MODIFIED', 3, D('c')), seen(6, 'MODIFIED', 2, D('b')))],
    ],
    ['a watch calls an old object new', /it was MODIFIED/, [one, two, watch(1, seen(3, 'ADDED', 2, D('b')))]],
    ['a list lacks an object', /it was at 1/, [one, list(2, 1)]],
    ['a list is of the past', /a list at 1 began when 2 was known/, [one, two, list(5, 1, [1, 'a'])]],
    ['a list holds what came later', /holds k of 2/, [one, two, list(5, 1, [2, 'b'])]],
    [
      'a compare-and-swap overwrites what it had not seen',
      /2 came between/,
      [one, two, write(4, 3, D('c'), { intent: { kind: 'swap', data: D('c'), base: 1 } })],
    ],
    [
      'a patch forgets what another wrote',
      /was answered/,
      [one, write(2, 2, { w: '1' }, { intent: { kind: 'patch', data: { w: '1' } } })],
    ],
    [
      'a name is given twice',
      /it was there since 1/,
      [one, write(2, 2, D('b'), { intent: { kind: 'create', data: D('b') } })],
    ],
    [
      'an acknowledged deletion is forgotten',
      /nobody saw it/,
      [
        one,
        write(2, 0, D(''), { intent: { kind: 'delete' }, outcome: 'deleted' }),
        read(5, { revision: 1, data: D('a') }),
      ],
    ],
  ])('%s', (_, problem, history) => expect(violations(history).join('\n')).toMatch(problem))
})
