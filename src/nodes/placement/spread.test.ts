import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { type Domain, type OfMachine, pickOrdered, pickSpread } from './spread.ts'

const candidate = (name: string, zone: string, rack: string, cls: string): OfMachine => ({
  name,
  machine: workingMachine(name, { zone, rack, class: cls }),
})
const names = (list: readonly OfMachine[]) => list.map((c) => c.name)
const three = [
  candidate('a', 'z1', 'r1', 'x'),
  candidate('b', 'z1', 'r1', 'x'),
  candidate('c', 'z1', 'r2', 'x'),
  candidate('d', 'z2', 'r3', 'x'),
  candidate('e', 'z3', 'r4', 'y'),
]

describe('machines of a slice', () => {
  test.each<[string, number, readonly Domain[], ReadonlyMap<string, number>, readonly string[]]>([
    ['are of classes that were never tried first', 2, ['zone'], new Map([['x', 3]]), ['e', 'a']],
    ['are taken from zone after zone', 3, ['zone'], new Map(Object.entries({ x: 1, y: 1 })), ['a', 'd', 'e']],
    [
      'and within a zone from rack after rack',
      4,
      ['zone', 'rack'],
      new Map(Object.entries({ x: 1, y: 1 })),
      ['a', 'd', 'e', 'c'],
    ],
    [
      'are the first by name where nothing shall be spread',
      3,
      [],
      new Map(Object.entries({ x: 1, y: 1 })),
      ['a', 'b', 'c'],
    ],
    ['are all there are when more are wanted', 9, ['rack'], new Map(), ['a', 'e', 'c', 'd', 'b']],
    ['are none when none are wanted', 0, ['zone'], new Map(), []],
  ])('%s', (_, count, domains, tried, expected) => {
    expect(names(pickSpread(three, count, domains, tried))).toEqual(expected)
  })

  const fleet = ['a', 'b', 'c'].flatMap((cls) =>
    ['z1', 'z2', 'z3'].map((zone, i) => candidate(`${cls}${i + 1}`, zone, `r-${cls}-${zone}`, cls)),
  )
  test('of three classes are not all in one zone, whether the classes are new or not', () => {
    for (const tried of [new Map<string, number>(), new Map(['a', 'b', 'c'].map((c) => [c, 1]))])
      expect(names(pickSpread(fleet, 3, ['class', 'zone', 'rack'], tried))).toEqual(['a1', 'b2', 'c3'])
  })

  test('begin with a zone that has not tried the version, where one slice follows the other', () => {
    const [tried, triedZones] = [new Map([['x', 1]]), new Set(['z1'])]
    const ofX = three.filter((c) => c.name !== 'e')
    expect(names(pickOrdered(ofX, { count: 1, domains: ['class', 'zone', 'rack'], tried, triedZones }))).toEqual(['d'])
  })

  const arbitrary = fc
    .array(fc.tuple(fc.nat(3), fc.nat(3), fc.nat(2)), { maxLength: 30 })
    .map((list) => list.map(([z, r, c], i) => candidate(`m-${i}`, `z-${z}`, `r-${r}`, `c-${c}`)))
  const domains = fc.shuffledSubarray<Domain>(['class', 'zone', 'rack'])

  test('do not depend on the order in which they are listed', () => {
    fc.assert(
      fc.property(arbitrary, fc.nat(12), domains, fc.nat(1_000), (list, count, by, seed) => {
        const shuffled = list.toSorted(
          (a, b) => ((seed * a.name.length + a.name.charCodeAt(2)) % 7) - (b.name.charCodeAt(2) % 7),
        )
        expect(names(pickSpread(shuffled, count, by, new Map()))).toEqual(names(pickSpread(list, count, by, new Map())))
      }),
    )
  })

  test('are different ones, as many as are wanted and there, and no zone is ahead of another by more than one that had more to give', () => {
    fc.assert(
      fc.property(arbitrary, fc.nat(12), (list, count) => {
        const tried = new Map([0, 1, 2].map((c) => [`c-${c}`, 1]))
        const picked = pickSpread(list, count, ['zone'], tried)
        expect(new Set(names(picked)).size).toBe(Math.min(count, list.length))
        const per = (of: readonly OfMachine[], zone: string) => of.filter((c) => c.machine.spec.zone === zone).length
        const zones = ['z-0', 'z-1', 'z-2', 'z-3']
        const most = Math.max(...zones.map((z) => per(picked, z)))
        for (const z of zones) expect(Math.min(most - 1, per(list, z))).toBeLessThanOrEqual(per(picked, z))
      }),
    )
  })
})
