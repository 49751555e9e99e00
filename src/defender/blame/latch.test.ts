import { describe, expect, test } from 'vitest'
import { START_MS } from '#test/support/fleets/defender-objects.ts'
import type { Cohort } from './cohorts.ts'
import { type Blame, latched, MOST_BLAMES } from './latch.ts'
import type { Suspicion } from './suspicion.ts'

const BEACON: Cohort = { kind: 'Component', component: 'beacon', value: '1.1.0' }
const RACK: Cohort = { kind: 'Rack', value: 'r3' }
const of = (cohort: Cohort): Suspicion => ({ cohort, failing: 5, members: 16, failingElsewhere: 0, elsewhere: 84 })
const MINUTE = 60_000

const at = (minutes: number, more: { present?: boolean; retried?: readonly string[] } = {}) => ({
  now: START_MS + minutes * MINUTE,
  isPresent: () => more.present ?? true,
  retried: new Set(more.retried ?? []),
})
const names = (blames: readonly Blame[]) => blames.map((b) => `${b.kind} ${b.value}`)

describe('a version that was blamed', () => {
  const blamed = latched([], [of(BEACON)], at(0))

  test('stays blamed when its failures are old: nothing was repaired and nothing was rolled out meanwhile', () => {
    expect(names(latched(blamed, [], at(600)))).toEqual(['Component 1.1.0'])
  })
  test('is forgiven once no machine runs or wants it', () => {
    expect(latched(blamed, [], at(1, { present: false }))).toEqual([])
  })
  test('is forgiven when a user retries it, and not blamed again at once', () => {
    expect(latched(blamed, [of(BEACON)], at(1, { retried: ['beacon'] }))).toEqual([])
  })
  test('keeps the time since when', () => {
    const [again] = latched(blamed, [{ ...of(BEACON), failing: 9 }], at(20))
    expect(again).toMatchObject({ since: '2026-01-05T00:00:00Z', seenAt: '2026-01-05T00:20:00Z', failing: 9 })
  })
  test('is not written again for every failure more', () => {
    expect(latched(blamed, [{ ...of(BEACON), failing: 6 }], at(1))).toEqual(blamed)
  })
})

test('a place is forgiven half an hour after its failures stopped', () => {
  const blamed = latched([], [of(RACK)], at(0))
  expect(names(latched(blamed, [], at(29)))).toEqual(['Rack r3'])
  expect(latched(blamed, [], at(31))).toEqual([])
})

test('no more are kept than the ledger has room for, and the newest stay', () => {
  const many = Array.from({ length: MOST_BLAMES + 4 }, (_, i): Cohort => ({ kind: 'Rack', value: `r${i + 10}` }))
  const blames = many.reduce<readonly Blame[]>((all, c, i) => latched(all, [of(c)], at(i / 10)), [])
  expect(blames).toHaveLength(MOST_BLAMES)
  expect(names(blames)).not.toContain('Rack r10')
})
