import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LABELS } from '#api/names.ts'
import { type MachineWish, START_MS, aMachine } from '#test/support/fleets/defender-objects.ts'
import { fleetView } from '../fleet.ts'
import { type Cohort, cohortName } from './cohorts.ts'
import { type FaultFamily, illPlaces } from './places.ts'

const MINUTE = 60_000

const fleet = (n: number, wish: (i: number) => Partial<MachineWish>) =>
  fleetView({
    machines: Array.from({ length: n }, (_, i) => aMachine({ name: `m-${i}`, ...wish(i) })),
    nodes: [],
    clusters: [],
  })

interface Failing {
  readonly i: number
  readonly minute?: number
  readonly family?: FaultFamily
}

const ill = (
  n: number,
  wish: (i: number) => Partial<MachineWish>,
  failing: readonly (number | Failing)[],
  open: readonly Cohort[] = [],
): readonly string[] => {
  const { cohorts, units } = fleet(n, wish)
  const troubles = failing.flatMap((f) => {
    const { i, minute = 0, family = 'Silent' } = typeof f === 'number' ? { i: f } : f
    const unit = units.find((u) => u.name === `m-${i}`)
    return unit === undefined ? [] : [{ unit, family, since: START_MS + minute * MINUTE }]
  })
  return illPlaces(cohorts, troubles, open).map((s) => `${cohortName(s.cohort)} ${s.failing}/${s.members}`)
}

/** Racks of ten, zones of five racks. */
const placed = (i: number) => ({ rack: `r${Math.trunc(i / 10)}`, zone: `z${Math.trunc(i / 50)}` })
const upTo = (n: number, from = 0): readonly number[] => Array.from({ length: n }, (_, i) => from + i)
const RACK: Cohort = { kind: 'Rack', value: 'r0' }

describe('the place that is ill', () => {
  test.each<[string, readonly (number | Failing)[], readonly string[]]>([
    ['none when nothing fails', [], []],
    ['none when two of a rack fail', [0, 1], []],
    ['the rack when three of ten fail at once', [0, 1, 2], ['rack r0 3/10']],
    ['the zone when several of its racks fail', [...upTo(4), ...upTo(4, 10), ...upTo(4, 20)], ['zone z0 12/50']],
    ['two racks of different zones', [...upTo(4), ...upTo(5, 60)], ['rack r6 5/10', 'rack r0 4/10']],
    ['none when as many fail everywhere', upTo(20).map((i) => i * 5), []],
    ['none when the faults began hours apart', [0, 1, 2].map((i) => ({ i, minute: i * 60 })), []],
    ['the rack when they began within ten minutes', [0, 1, 2].map((i) => ({ i, minute: i * 5 })), ['rack r0 3/10']],
    [
      'none when each fails in its own way',
      (['Silent', 'Down', 'Repair'] as const).map((family, i) => ({ i, family })),
      [],
    ],
  ])('is %s', (_, failing, expected) => {
    expect(ill(100, placed, failing)).toEqual(expected)
  })

  test('is none that fewer than one in five fail of', () => {
    const wide = (i: number) => ({ rack: i < 20 ? 'wide' : 'other' })
    expect(ill(100, wide, upTo(3))).toEqual([])
    expect(ill(100, wide, upTo(4))).toEqual(['rack wide 4/20'])
  })

  test('is the smallest that explains the same failures', () => {
    const small = (i: number) => ({ rack: `r${Math.trunc(i / 5)}`, zone: `z${Math.trunc(i / 10)}` })
    expect(ill(100, small, [0, 1, 2])).toEqual(['rack r0 3/5'])
  })

  test('is not the whole fleet: there is nothing to compare it with', () => {
    expect(ill(10, () => ({ rack: 'only' }), upTo(8))).toEqual([])
  })

  test('is the host when all of its machines fail, two of two, and not when one of them serves', () => {
    const hosted = (i: number) => ({ labels: { [LABELS.host]: `h${Math.trunc(i / 2)}` } })
    expect(ill(20, hosted, [0, 1])).toEqual(['host h0 2/2'])
    expect(ill(20, hosted, [0, 2])).toEqual([])
    const ofFour = (i: number) => ({ labels: { [LABELS.host]: `h${Math.trunc(i / 4)}` } })
    expect(ill(20, ofFour, [0, 1, 2])).toEqual([])
    expect(ill(20, ofFour, upTo(4))).toEqual(['host h0 4/4'])
  })

  test('is the switch that they share across racks', () => {
    const wired = (i: number) => ({ rack: `r${i % 10}`, labels: { [LABELS.switch]: i < 10 ? 'sw-1' : 'sw-2' } })
    expect(ill(100, wired, upTo(6))).toEqual(['switch sw-1 6/10'])
  })

  test('has no name where machines name none', () => {
    expect(ill(100, () => ({}), upTo(30))).toEqual([])
  })
})

describe('a place that is ill already', () => {
  test('stays so while one in twenty fails, whenever that began', () => {
    const wide = (i: number) => ({ rack: i < 40 ? 'r0' : 'other' })
    expect(ill(100, wide, [{ i: 0 }, { i: 1, minute: 600 }], [RACK])).toEqual(['rack r0 2/40'])
    expect(ill(100, wide, [0], [RACK])).toEqual([])
    expect(ill(100, wide, [0, 1])).toEqual([])
  })
})

describe('properties', () => {
  const failures = fc.uniqueArray(fc.record({ i: fc.nat(99), minute: fc.nat(120) }), {
    maxLength: 40,
    selector: (f) => f.i,
  })

  test('a place is named for what is in it: at least three failures, and no failure counts for two places', () => {
    fc.assert(
      fc.property(failures, (failing) => {
        const counts = ill(100, placed, failing).map((s) => Number(/ (\d+)\//.exec(s)?.[1]))
        expect(counts.every((c) => c >= 3)).toBe(true)
        expect(counts.reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(failing.length)
      }),
    )
  })

  test('the order of the failures changes nothing', () => {
    fc.assert(
      fc.property(failures, (failing) => {
        expect(ill(100, placed, failing.toReversed())).toEqual(ill(100, placed, failing))
      }),
    )
  })

  test('a place that was found is found again while nothing changes: entering implies staying', () => {
    fc.assert(
      fc.property(failures, (failing) => {
        const found = ill(100, placed, failing)
        const open = found.map((s): Cohort => {
          const [kind, value = ''] = s.split(' ')
          return { kind: kind === 'rack' ? 'Rack' : 'Zone', value }
        })
        expect(ill(100, placed, failing, open)).toEqual(found)
      }),
    )
  })
})
