import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Holdings, roomFor, shareOf, type Bound, type Held, type Share } from './holdings.ts'
import { DEFAULT_LIMITS } from './limits.ts'

test.each<[string, readonly string[], Share]>([
  ['root', ['system:masters'], 'administrators'],
  ['kubenode:sync', [], 'leaders'],
  ['system:serviceaccount:kubenode-system:kubenode-sync', ['system:serviceaccounts'], 'leaders'],
  ['kubenode:agent:sync', ['kubenode:agents'], 'others'],
  ['system:serviceaccount:other:kubenode-sync', ['system:serviceaccounts'], 'others'],
  ['system:anonymous', ['system:unauthenticated'], 'others'],
])('%s in %j has the share of %s', (name, groups, share) => expect(shareOf({ name, groups })).toBe(share))

const bound: Bound = { all: 160, each: { leaders: 20, administrators: 100, others: 10 } }

test.each<[string, Share, { readonly own: number; readonly sum: number }, number]>([
  ['an identity, up to its own bound', 'others', { own: 4, sum: 4 }, 6],
  ['others, not of the parts of leaders and administrators', 'others', { own: 0, sum: 130 }, 0],
  ['others, a part of what is left', 'others', { own: 0, sum: 120 }, 2],
  ['administrators, all that is left but the part of leaders', 'administrators', { own: 0, sum: 130 }, 20],
  ['leaders, where nobody else gets anything', 'leaders', { own: 0, sum: 150 }, 2],
])('%s', (_, share, now, room) => expect(roomFor(bound, share, now)).toBe(room))

describe.each(Object.keys(DEFAULT_LIMITS.held) as Held[])('%s', (what) => {
  test('twenty greedy identities leave as much as one may have, to leaders and administrators too', () => {
    const { all, each } = DEFAULT_LIMITS.held[what]
    const holdings = new Holdings(DEFAULT_LIMITS.held)
    const step = Math.max(1, Math.floor(each.others / 64))
    for (let i = 0; i < 20; i++) {
      const thief = { name: `thief-${i}`, share: 'others' as const }
      while (holdings.take(what, thief, step)) continue
    }
    expect(holdings.take(what, { name: 'ada', share: 'others' }, Math.floor((each.others * 3) / 4))).toBe(true)
    expect(holdings.take(what, { name: 'root', share: 'administrators' }, Math.floor(all / 8))).toBe(true)
    expect(holdings.take(what, { name: 'kubenode:sync', share: 'leaders' }, Math.floor(all / 100))).toBe(true)
  })
})

test('what is given back can be taken again, and an identity that holds nothing is never spent', () => {
  const holdings = new Holdings({ ...DEFAULT_LIMITS.held, unreadBytes: bound })
  const [a, b] = [
    { name: 'a', share: 'others' as const },
    { name: 'b', share: 'others' as const },
  ]
  expect(holdings.take('unreadBytes', a, 10)).toBe(true)
  expect([
    holdings.take('unreadBytes', a, 1),
    holdings.isSpent('unreadBytes', a),
    holdings.isOver('unreadBytes', a),
  ]).toEqual([false, true, false])
  holdings.add('unreadBytes', a, 200)
  expect([holdings.isOver('unreadBytes', a), holdings.isSpent('unreadBytes', b)]).toEqual([true, false])
  holdings.give('unreadBytes', a, 210)
  expect([holdings.held('unreadBytes'), holdings.take('unreadBytes', a, 10)]).toEqual([0, true])
})

test('whatever comes and goes: nothing is lost or counted twice, and each share keeps to its part', () => {
  const share = fc.constantFrom<Share>('leaders', 'administrators', 'others')
  const step = fc.record({
    share,
    name: fc.constantFrom('a', 'b', 'c'),
    amount: fc.nat({ max: 20 }),
    give: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const holdings = new Holdings({ ...DEFAULT_LIMITS.held, watches: bound })
      const held: { readonly who: { name: string; share: Share }; readonly amount: number }[] = []
      for (const { give, amount, ...who } of steps) {
        const sum = held.reduce((n, h) => n + h.amount, 0)
        if (give) {
          const last = held.pop()
          if (last !== undefined) holdings.give('watches', last.who, last.amount)
        } else if (holdings.take('watches', who, amount)) {
          held.push({ who, amount })
          expect(sum + amount).toBeLessThanOrEqual(who.share === 'others' ? 130 : who.share === 'leaders' ? 160 : 150)
        }
        expect(holdings.held('watches')).toBe(held.reduce((n, h) => n + h.amount, 0))
      }
    }),
  )
})
