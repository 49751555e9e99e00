// Stops for the whole fleet: a version that failed in too many clusters, a rule that repairs too much, and how each stop ends.
import { describe, expect, test } from 'vitest'
import { MAX_STOPS, type Stop } from '#api/kinds/fleet-brake.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { timestamp } from '#lib/clock.ts'
import { without } from '#lib/without.ts'
import type { Evidence, FailedVersion } from './evidence.ts'
import { type Evidences, planStops, stoppedCommit, stopKey } from './stops.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const HOUR = 3_600_000
const limits = { maxChanging: undefined, failedClusters: 3, repairsPerHour: 10 }
const COMMIT = 'a'.repeat(40)

const shows = (failed: readonly Partial<FailedVersion>[] = [], repairs: Record<string, number> = {}): Evidence => ({
  failed: failed.map((f) => ({ component: 'beacon', version: '1.1.0', config: 'beacon-1', commit: COMMIT, ...f })),
  repairs: new Map(Object.entries(repairs)),
  openSlices: 0,
  waitingSlices: 0,
})
const clusters = (...all: readonly (Evidence | undefined)[]): Evidences =>
  new Map(all.map((e, i) => [`fleet/c-${i + 1}`, e]))
const planned = (
  evidences: Evidences,
  before: readonly Stop[] = [],
  { now = NOW, retries = [] as readonly OperationalHold[] } = {},
) => planStops({ before, evidences, limits, retries, now })
const retry = (at: number, to?: string): OperationalHold =>
  ({ metadata: { uid: `u-${at}`, creationTimestamp: timestamp(at) }, spec: { to } }) as unknown as OperationalHold

const FAILS = shows([{}])

describe('a version', () => {
  test('that failed in two clusters is not stopped, and in the third it is, with its commit', () => {
    expect(planned(clusters(FAILS, FAILS, shows()))).toEqual([])
    const [stop] = planned(clusters(FAILS, FAILS, FAILS))
    expect(stop).toEqual({
      kind: 'Component',
      name: 'beacon',
      version: '1.1.0',
      config: 'beacon-1',
      count: 3,
      clusters: ['fleet/c-1', 'fleet/c-2', 'fleet/c-3'],
      commits: [COMMIT],
      since: timestamp(NOW),
      holdsBefore: [],
      seen: 'failed in 3 clusters (limit 3)',
    })
    expect(stoppedCommit({ stops: [stop as Stop] }, COMMIT)?.name).toBe('beacon')
    expect(stoppedCommit({ stops: [stop as Stop] }, 'b'.repeat(40))).toBeUndefined()
  })

  test('that failed with several configurations is stopped with any', () => {
    const [stop] = planned(clusters(FAILS, FAILS, shows([{ config: 'beacon-2' }])))
    expect(stop?.config).toBeUndefined()
  })

  test('three versions that fail in one cluster each are no cause', () => {
    const one = (version: string) => shows([{ version }])
    expect(planned(clusters(one('1.1.0'), one('1.2.0'), one('1.3.0')))).toEqual([])
  })

  test('is let go once nothing shows it, and not while a cluster does not answer', () => {
    const before = planned(clusters(FAILS, FAILS, FAILS))
    expect(planned(clusters(shows(), shows(), undefined), before)).toEqual(before)
    expect(planned(clusters(shows(), shows(), shows()), before)).toEqual([])
  })

  test('stays while fewer clusters than the limit still show it', () => {
    const before = planned(clusters(FAILS, FAILS, FAILS))
    expect(planned(clusters(FAILS, shows(), shows()), before)).toEqual(before)
  })

  test('keeps the time at which it was stopped when more clusters fail', () => {
    const before = planned(clusters(FAILS, FAILS, FAILS))
    const [stop] = planned(clusters(FAILS, FAILS, FAILS, FAILS), before, { now: NOW + HOUR })
    expect(stop).toMatchObject({ count: 4, since: timestamp(NOW), seen: 'failed in 4 clusters (limit 3)' })
  })
})

describe('a person', () => {
  const before = planned(clusters(FAILS, FAILS, FAILS))

  test('lifts a stop, which comes back with three more clusters, and not with the same', () => {
    const after = planned(clusters(FAILS, FAILS, FAILS), before, { retries: [retry(NOW + 1_000)], now: NOW + 2_000 })
    expect(after).toMatchObject([{ name: 'beacon', liftedAt: timestamp(NOW + 2_000) }])
    expect(planned(clusters(FAILS, FAILS, FAILS, FAILS, FAILS), after)).toEqual(after)
    const [again] = planned(clusters(FAILS, FAILS, FAILS, FAILS, FAILS, FAILS), after)
    expect(again?.liftedAt).toBeUndefined()
    expect(again?.count).toBe(6)
  })

  test('lifts nothing with a hold from before it, or for another one', () => {
    const old = retry(NOW - 1_000)
    const beside = planned(clusters(FAILS, FAILS, FAILS), [], { retries: [old] })
    expect(planned(clusters(FAILS, FAILS, FAILS), beside, { retries: [old] })).toEqual(beside)
    const other = retry(NOW + 1_000, 'rule/silent')
    expect(planned(clusters(FAILS, FAILS, FAILS), before, { retries: [other] })).toEqual(before)
    expect(
      planned(clusters(FAILS, FAILS, FAILS), before, { retries: [retry(NOW + 1_000, 'beacon@1.1.0')] })[0]?.liftedAt,
    ).toBeDefined()
  })
})

describe('clocks of the hub and of sync that differ', () => {
  const before = planned(clusters(FAILS, FAILS, FAILS))

  test('a hold that came after the stop lifts it, whatever its server says about the time', () => {
    const early = retry(NOW - 3_600_000)
    expect(planned(clusters(FAILS, FAILS, FAILS), before, { retries: [early] })[0]?.liftedAt).toBeDefined()
  })

  test('a hold that was there before does not, even with a later time', () => {
    const late = retry(NOW + 3_600_000)
    const stopped = planned(clusters(FAILS, FAILS, FAILS), [], { retries: [late] })
    expect(planned(clusters(FAILS, FAILS, FAILS), stopped, { retries: [late] })).toEqual(stopped)
  })

  test('of a stop that an earlier version wrote, the times decide', () => {
    const written = before.map((stop) => without(stop, 'holdsBefore'))
    expect(planned(clusters(FAILS, FAILS, FAILS), written, { retries: [retry(NOW - 1_000)] })).toEqual(written)
    expect(planned(clusters(FAILS, FAILS, FAILS), written, { retries: [retry(NOW)] })[0]?.liftedAt).toBeDefined()
  })
})

describe('a rule', () => {
  const busy = shows([], { silent: 6 })
  const calm = shows([], { silent: 0 })

  test('that repaired more than the limit in all clusters together is stopped', () => {
    expect(planned(clusters(shows([], { silent: 5 }), shows([], { silent: 5 })))).toEqual([])
    expect(planned(clusters(busy, shows([], { silent: 5 })))).toMatchObject([
      { kind: 'Rule', name: 'silent', version: '', seen: '11 repairs in an hour in all clusters (limit 10)' },
    ])
  })

  test('stays stopped when its counts fall, for a day', () => {
    const before = planned(clusters(busy, busy))
    expect(planned(clusters(calm, calm), before, { now: NOW + 23 * HOUR })).toEqual(before)
    expect(planned(clusters(calm, calm), before, { now: NOW + 24 * HOUR })).toEqual([])
  })

  test('that a person lifted is stopped again by as many repairs more', () => {
    const before = planned(clusters(busy, busy))
    const after = planned(clusters(busy, busy), before, { retries: [retry(NOW)], now: NOW + 1_000 })
    expect(after).toMatchObject([{ name: 'silent', liftedAt: timestamp(NOW + 1_000) }])
    const much = planned(clusters(shows([], { silent: 23 })), after, { now: NOW + 60_000 })
    expect(much[0]?.liftedAt).toBeUndefined()
    expect(planned(clusters(calm), after, { now: NOW + 2 * HOUR })).toEqual([])
  })
})

test('more causes than fit stop everything, and a person lifts that too', () => {
  const many = shows(Array.from({ length: MAX_STOPS + 5 }, (_, i) => ({ component: `c${i}` })))
  const all = planned(clusters(many, many, many))
  expect(all).toHaveLength(MAX_STOPS)
  expect(all.at(-1)).toMatchObject({
    kind: 'Everything',
    seen: `37 versions and rules are stopped (limit ${MAX_STOPS - 1})`,
  })
  expect(stopKey(all.at(-1) as Stop)).toBe('everything')
  expect(planned(clusters(shows()), all).map(stopKey)).toEqual(['everything'])
  expect(planned(clusters(shows()), all, { retries: [retry(NOW)] })).toEqual([])
})
