import { describe, expect, test } from 'vitest'
import { connectionToDrop, type Held, networkOf } from './connection-bound.ts'

const NOW = 100_000
const LONGEST_MS = 10_000

interface Case extends Held {
  readonly id: string
}
const silent = (id: string, from: string, idleSince: number): Case => ({ id, from, idleSince, hasAsked: false })
const asked = (id: string, from: string, idleSince: number): Case => ({ id, from, idleSince, hasAsked: true })
const atWork = (id: string, from: string, busySince: number): Case => ({ ...asked(id, from, 0), busySince })
const newcomer = silent('newcomer', 'b', NOW)

const dropped = (...held: readonly Case[]) => connectionToDrop([...held, newcomer], NOW, LONGEST_MS)?.id

describe('which connection gives its place to the newcomer', () => {
  test.each([
    ['the oldest silent one', [silent('s2', 'a', 20), silent('s1', 'a', 10)], 's1'],
    ['one that is silent before one that asked', [asked('k', 'b', 1), silent('s', 'a', 50)], 's'],
    ['one of who holds the most', [silent('s', 'c', 1), silent('a1', 'a', 5), silent('a2', 'a', 4)], 'a2'],
    [
      'a silent one, however many of an API server asked before',
      [asked('k1', 'b', 1), asked('k2', 'b', 2), silent('s', 'a', 50)],
      's',
    ],
    ['one that is quiet for longest, where all asked', [asked('k2', 'b', 20), asked('k1', 'b', 10)], 'k1'],
    ['none at work', [atWork('w', 'a', NOW - 5), asked('k', 'b', 90)], 'k'],
    ['one at work for too long', [atWork('w', 'a', NOW - 5), atWork('stuck', 'a', NOW - LONGEST_MS - 1)], 'stuck'],
    ['the newcomer, where all others are at work', [atWork('w', 'a', NOW - 5)], 'newcomer'],
  ] as const)('%s', (_, held, id) => expect(dropped(...held)).toBe(id))
})

test.each([
  [
    'the oldest request of the peer that holds the most',
    [atWork('a2', 'a', 2), atWork('a1', 'a', 1), atWork('a3', 'a', 3)],
    'a1',
  ],
  ['the newcomer, where no peer has two more than its own', [atWork('a1', 'a', 1), atWork('a2', 'a', 2)], 'newcomer'],
  ['the newcomer of the peer that holds the most', [atWork('b1', 'b', 1), atWork('b2', 'b', 2)], 'newcomer'],
  ['one that asks nothing, before any request', [atWork('a1', 'a', 1), atWork('a2', 'a', 2), asked('k', 'c', 9)], 'k'],
] as const)('where peers share their places: %s', (_, held, id) => {
  const within = NOW - LONGEST_MS
  const recent = held.map((h) => ({ ...h, ...(h.busySince !== undefined && { busySince: within + h.busySince }) }))
  expect(connectionToDrop([...recent, newcomer], NOW, LONGEST_MS, true)?.id).toBe(id)
})

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '::ffff:10.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('%s belongs to %s', (address, network) => expect(networkOf(address)).toBe(network))
