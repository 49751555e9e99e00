import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type MachineWish, aMachine } from '#test/support/fleets/defender-objects.ts'
import { fleetView } from '../fleet.ts'
import { cohortName } from './cohorts.ts'
import { CohortSizes } from './cohort-sizes.ts'
import { chanceOf } from './significance.ts'
import { suspicions } from './suspicion.ts'

const fleet = (n: number, wish: (i: number) => Partial<MachineWish>) =>
  fleetView({
    machines: Array.from({ length: n }, (_, i) => aMachine({ name: `m-${i}`, ...wish(i) })),
    nodes: [],
    clusters: [],
  })

const suspected = (n: number, wish: (i: number) => Partial<MachineWish>, failing: readonly number[]) => {
  const names = new Set(failing.map((i) => `m-${i}`))
  const { cohorts, units } = fleet(n, wish)
  return suspicions(
    cohorts,
    units.filter((u) => names.has(u.name)),
  ).map((s) => `${cohortName(s.cohort)} ${s.failing}/${s.members} ${s.failingElsewhere}/${s.elsewhere}`)
}
const upTo = (n: number): readonly number[] => Array.from({ length: n }, (_, i) => i)
/** The first `done` machines have the new version. */
const rolledOut = (done: number) => (i: number) => ({
  runs: { beacon: i < done ? '1.1.0' : '1.0.0' },
  rack: `r${i % 10}`,
})

describe('what failures are blamed on', () => {
  test.each([
    ['nothing, when nothing fails', 100, rolledOut(16), [], []],
    ['nothing, when two of the new version fail', 100, rolledOut(16), [0, 1], []],
    [
      'the new version, when five of sixteen fail and no other machine',
      100,
      rolledOut(16),
      upTo(5),
      ['beacon 1.1.0 5/16 0/84'],
    ],
    [
      'the new version, also when others fail now and then',
      1000,
      rolledOut(50),
      [...upTo(6), 500, 600],
      ['beacon 1.1.0 6/50 2/950'],
    ],
    ['nothing, when as many fail everywhere', 100, rolledOut(50), [0, 7, 13, 55, 62, 88], []],
    ['a rack that fails as one', 100, rolledOut(0), [3, 13, 23, 33, 43, 53], ['rack r3 6/10 0/90']],
    [
      'the version before the rack, where both have the same machines',
      100,
      (i: number) => ({ runs: { beacon: i < 10 ? '1.1.0' : '1.0.0' }, rack: i < 10 ? 'new' : 'old' }),
      upTo(8),
      ['beacon 1.1.0 8/10 0/90'],
    ],
    ['a kernel', 60, (i: number) => ({ kernel: i < 20 ? '6.1.1' : '6.1.0' }), upTo(9), ['kernel 6.1.1 9/20 0/40']],
    [
      'nothing, when every machine has the version: there is nothing to compare it with',
      100,
      rolledOut(100),
      upTo(30),
      [],
    ],
    ['nothing in a fleet of five, where chance does as much', 5, rolledOut(3), [0, 1, 2], []],
  ] as const)('is %s', (_, n, wish, failing, expected) => {
    expect(suspected(n, wish, failing)).toEqual(expected)
  })

  test('is two things, when two changes break different machines', () => {
    const wish = (i: number) => ({ runs: { a: i < 30 ? '2' : '1', b: i >= 30 && i < 60 ? '2' : '1' } })
    expect(suspected(300, wish, [...upTo(8), 31, 33, 35, 37, 39, 41, 43])).toEqual(['a 2 8/30 7/270', 'b 2 7/30 0/270'])
  })
})

test('the chance is that of drawing balls from an urn', () => {
  expect(chanceOf({ total: 10, failing: 3, members: 5, failingMembers: 3 })).toBeCloseTo(10 / 120, 12)
  expect(chanceOf({ total: 10, failing: 3, members: 5, failingMembers: 0 })).toBeCloseTo(1, 12)
  expect(chanceOf({ total: 10_000, failing: 30, members: 100, failingMembers: 10 })).toBeLessThan(1e-11)
})

test('the order in which machines are listed changes nothing', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(59), { maxLength: 12 }), fc.infiniteStream(fc.nat()), (failing, order) => {
      const { cohorts, units } = fleet(60, rolledOut(12))
      const names = new Set(failing.map((i) => `m-${i}`))
      const keys = new Map(units.map((u) => [u, order.next().value as number]))
      const shuffled = units.toSorted((a, b) => (keys.get(a) ?? 0) - (keys.get(b) ?? 0))
      const failingOf = (all: typeof units) => all.filter((u) => names.has(u.name))
      expect(suspicions(new CohortSizes(shuffled), failingOf(shuffled))).toEqual(suspicions(cohorts, failingOf(units)))
    }),
    { numRuns: 50 },
  )
})
