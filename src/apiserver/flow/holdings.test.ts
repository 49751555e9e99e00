import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Holdings, holderOf, roomFor, type Bound, type Held, type Holder, type Share } from './holdings.ts'
import { DEFAULT_LIMITS } from './limits.ts'

test.each<[string, readonly string[], Share, string?]>([
  ['root', ['system:masters'], 'administrators'],
  ['kubenode:sync', [], 'leaders'],
  ['system:serviceaccount:kubenode-system:kubenode-sync', ['system:serviceaccounts'], 'leaders'],
  ['kubenode:agent:sync', ['kubenode:agents'], 'nodes'],
  ['system:node:n-1', ['system:nodes', 'system:authenticated'], 'nodes'],
  [
    'system:serviceaccount:other:kubenode-sync',
    ['system:serviceaccounts', 'system:serviceaccounts:other'],
    'others',
    'system:serviceaccount:other',
  ],
  ['ada', ['sre'], 'others'],
  ['system:anonymous', ['system:unauthenticated'], 'others'],
])('%s in %j has the share of %s', (name, groups, share, tenant) =>
  expect(holderOf({ name, groups })).toEqual({ name, share, ...(tenant !== undefined && { tenant }) }),
)

const bound: Bound = { all: 160, forNodes: 1 / 4, each: { leaders: 20, nodes: 20, administrators: 100, others: 10 } }

test.each<[string, Share, Parameters<typeof roomFor>[2], number]>([
  ['an identity, up to its own bound', 'others', { own: 4, ofShare: 4, sum: 4 }, 6],
  ['others, not of the parts of leaders and administrators', 'others', { own: 0, ofShare: 0, sum: 130 }, 0],
  ['others, not of the part of nodes', 'others', { own: 0, ofShare: 90, sum: 90 }, 0],
  ['others, a part of what is left', 'others', { own: 0, ofShare: 80, sum: 80 }, 2],
  ['others, less where their tenant holds some of it', 'others', { own: 0, tenant: 2, ofShare: 80, sum: 80 }, 0.4],
  ['nodes, what others may not take', 'nodes', { own: 0, ofShare: 0, sum: 90 }, 8],
  ['administrators, all that is left but the part of leaders', 'administrators', { own: 0, ofShare: 0, sum: 130 }, 20],
  ['leaders, where no other share gets anything', 'leaders', { own: 0, ofShare: 0, sum: 150 }, 2],
])('%s', (_, share, now, room) => expect(roomFor(bound, share, now)).toBeCloseTo(room))

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

  test.each([40, 200, 2_000])('%i greedy identities leave leaders, nodes and administrators their parts', (count) => {
    const { all, each, forNodes } = DEFAULT_LIMITS.held[what]
    const holdings = new Holdings(DEFAULT_LIMITS.held)
    for (let i = 0; i < count; i++) greedy(holdings, what, { name: `thief-${i}`, share: 'others' }, each.others)
    const nodes = Array.from({ length: 200 }, (_, i) => ({ name: `kubenode:agent:n-${i}`, share: 'nodes' as const }))
    const forEach = Math.floor((all * forNodes) / 1_000)
    expect(nodes.filter((n) => !holdings.take(what, n, forEach))).toEqual([])
    expect(holdings.take(what, { name: 'root', share: 'administrators' }, Math.floor(all / 8))).toBe(true)
    const sync = { name: 'kubenode:sync', share: 'leaders' as const }
    expect(holdings.take(what, sync, Math.floor(Math.min(each.leaders, all / 100)))).toBe(true)
  })

  test('forty accounts of one namespace leave room for those of others', () => {
    const { each } = DEFAULT_LIMITS.held[what]
    const holdings = new Holdings(DEFAULT_LIMITS.held)
    const account = (namespace: string, i: number) =>
      holderOf({ name: `system:serviceaccount:${namespace}:a-${i}`, groups: ['system:serviceaccounts'] })
    for (let i = 0; i < 40; i++) greedy(holdings, what, account('greedy', i), each.others)
    expect(holdings.take(what, account('honest', 0), Math.floor((each.others * 3) / 4))).toBe(true)
  })
})

const greedy = (holdings: Holdings, what: Held, thief: Holder, each: number): void => {
  for (let step = each; step >= 1; step = Math.floor(step / 2)) while (holdings.take(what, thief, step)) continue
}

test.each([200, 10_000])(
  'the stolen keys of %i nodes leave each other node its heartbeat, and administrators theirs',
  (n) => {
    const holdings = new Holdings(DEFAULT_LIMITS.held)
    for (const what of ['bodyBytes', 'waiting'] as const)
      for (let i = 0; i < n; i++)
        greedy(holdings, what, { name: `thief-${i}`, share: 'nodes' }, DEFAULT_LIMITS.held[what].each.nodes)
    const node = { name: 'kubenode:agent:n-1', share: 'nodes' as const }
    expect([holdings.take('bodyBytes', node, 2_048), holdings.take('waiting', node, 1)]).toEqual([true, true])
    const sync = { name: 'kubenode:sync', share: 'leaders' as const }
    expect([holdings.take('bodyBytes', sync, 2_048), holdings.take('waiting', sync, 1)]).toEqual([true, true])
  },
)

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
  const share = fc.constantFrom<Share>('leaders', 'nodes', 'administrators', 'others')
  const most = { leaders: 160, nodes: 130, administrators: 150, others: 90 }
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
          const ofShare = held.reduce((n, h) => (h.who.share === 'others' ? n + h.amount : n), 0)
          expect(who.share === 'others' ? ofShare : sum + amount).toBeLessThanOrEqual(most[who.share])
        }
        expect(holdings.held('watches')).toBe(held.reduce((n, h) => n + h.amount, 0))
      }
    }),
  )
})
