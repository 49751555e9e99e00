// When a Cluster with a TTL expires, what extends it, and what limits both.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { aheadOf, capsOf, isDeclared, lifetimeOf } from './plan-lifetime.ts'
import { defined } from '#lib/defined.ts'

const START = Date.UTC(2030, 0, 1)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const after = (ms: number) => START + ms

const cluster = (ttl: string | undefined, more: object = {}, name = 'pr-7'): Cluster =>
  ({
    metadata: { namespace: 'fleet', name, creationTimestamp: timestamp(START), labels: { team: 'a' }, ...more },
    spec: { ...defined({ ttl }), deletionPolicy: 'Delete' },
  }) as unknown as Cluster

const extension = (until: string, madeAt = START, target: object = { kind: 'Cluster', name: 'pr-7' }, more = {}) =>
  ({
    metadata: { name: 'longer', creationTimestamp: timestamp(madeAt), ...more },
    spec: { target, effect: 'Extend', reason: 'a release is tested', author: 'ada', until },
  }) as unknown as OperationalHold

const policy = (spec: object) => ({ metadata: { name: 'p' }, spec }) as unknown as DefenderPolicy

describe('a time to live', () => {
  test.each([
    ['the start', 0, 'Alive'],
    ['79 percent', 47 * MINUTE, 'Alive'],
    ['80 percent', 48 * MINUTE, 'Expiring'],
    ['its last moment', HOUR - 1, 'Expiring'],
    ['its end', HOUR, 'Expired'],
    ['a day later', 24 * HOUR, 'Expired'],
  ])('counts from the creation: at %s', (_when, ms, state) => {
    expect(lifetimeOf(cluster('1h'), [], {}, after(ms))).toMatchObject({ state, expiresAt: after(HOUR) })
  })

  test('that is not declared never ends, and one of a second is over before anything is made', () => {
    expect(lifetimeOf(cluster(undefined), [], {}, after(9_999 * HOUR))).toEqual({ state: 'Unlimited' })
    expect(lifetimeOf(cluster('1s'), [], {}, after(2_000)).state).toBe('Expired')
  })

  test('that a commit raises brings an expired cluster back, as the revert of a shorter one does', () => {
    expect(lifetimeOf(cluster('1h'), [], {}, after(2 * HOUR)).state).toBe('Expired')
    expect(lifetimeOf(cluster('4h'), [], {}, after(2 * HOUR)).state).toBe('Alive')
  })

  test('is looked at again exactly when its state changes', () => {
    for (let now = START, steps = 0; ; steps++) {
      const found = lifetimeOf(cluster('1h'), [], {}, now)
      if (found.state === 'Expired') return expect(steps).toBe(2)
      if (found.state === 'Unlimited' || found.changesInMs === undefined) throw new Error('it never changes')
      expect(lifetimeOf(cluster('1h'), [], {}, now + found.changesInMs - 1).state).toBe(found.state)
      now += found.changesInMs
    }
  })
})

describe('an extension', () => {
  const until = (ms: number) => timestamp(after(ms))

  test('moves the end, and says by which hold', () => {
    expect(lifetimeOf(cluster('1h'), [extension(until(3 * HOUR))], {}, after(2 * HOUR))).toMatchObject({
      state: 'Alive',
      expiresAt: after(3 * HOUR),
      extendedBy: 'longer',
    })
  })

  test('never shortens a life', () => {
    expect(lifetimeOf(cluster('1h'), [extension(until(MINUTE))], {}, START)).toMatchObject({ expiresAt: after(HOUR) })
  })

  test('that ended changes nothing: the cluster expired with it', () => {
    expect(lifetimeOf(cluster('1h'), [extension(until(2 * HOUR))], {}, after(2 * HOUR)).state).toBe('Expired')
  })

  test.each([
    ['another cluster', { kind: 'Cluster', name: 'other' }],
    ['a Release', { kind: 'Release', name: 'pr-7' }],
    ['another namespace', { kind: 'Cluster', name: 'pr-7', namespace: 'others' }],
  ])('of %s does not count', (_what, target) => {
    expect(lifetimeOf(cluster('1h'), [extension(until(9 * HOUR), START, target)], {}, after(2 * HOUR)).state).toBe(
      'Expired',
    )
  })

  test('whose end cannot be read keeps the cluster until the hold is deleted', () => {
    expect(lifetimeOf(cluster('1h'), [extension('soon')], {}, after(99 * HOUR))).toEqual({
      state: 'Held',
      extendedBy: 'longer',
    })
    expect(lifetimeOf(cluster('1h'), [], {}, after(99 * HOUR)).state).toBe('Expired')
  })
})

describe('policies', () => {
  test('shorten every life and every single extension, and say so', () => {
    const caps = capsOf([policy({ clusters: { maxTtl: '2h' } }), policy({ clusters: { maxTtl: '3h' } })], cluster('9h'))
    expect(lifetimeOf(cluster('9h'), [], caps, START)).toMatchObject({ expiresAt: after(2 * HOUR), cappedTo: '2h' })
    const hold = extension(timestamp(after(99 * HOUR)), after(HOUR))
    expect(lifetimeOf(cluster('1h'), [hold], caps, after(HOUR))).toMatchObject({ expiresAt: after(3 * HOUR) })
  })

  test.each([
    ['of other clusters', { selector: { matchLabels: { team: 'b' } }, clusters: { maxTtl: '1m' } }],
    ['that only report', { mode: 'Audit', clusters: { maxTtl: '1m' } }],
    [
      'with a selector that cannot be read',
      { selector: { matchExpressions: [{ key: 'a', operator: 'Like' }] }, clusters: { maxTtl: '1m' } },
    ],
    ['with a time that cannot be read', { clusters: { maxTtl: 'long' } }],
    ['without limits', {}],
  ])('%s limit nothing', (_what, spec) => {
    expect(capsOf([policy(spec)], cluster('1h'))).toEqual({})
  })

  test('limit how many run at once: the oldest run, expired ones do not count', () => {
    const at = (name: string, ms: number, status?: Cluster['status']): Cluster => ({
      ...cluster('1h', { creationTimestamp: timestamp(after(ms)) }, name),
      ...defined({ status }),
    })
    const all = [at('a', 0), at('b', 1_000), at('c', 2_000), at('d', 2_000), cluster(undefined, {}, 'x')]
    expect(all.slice(0, 4).map((c) => aheadOf(c, all, START))).toEqual([0, 1, 2, 3])
    const later = [at('a', 0, { expiresAt: timestamp(after(HOUR)) }), ...all.slice(1)]
    expect(later.slice(0, 4).map((c) => aheadOf(c, later, after(HOUR)))).toEqual([0, 0, 1, 2])
  })
})

test('a Cluster that a commit declares is known by its source', () => {
  expect(isDeclared(cluster('1h', { annotations: { [ANNOTATIONS.source]: 'fleet/fleet' } }))).toBe(true)
  expect(isDeclared(cluster('1h'))).toBe(false)
})

test('whatever holds and limits there are: no cluster expires before its time, and none lives longer than they allow', () => {
  const hours = fc.integer({ min: 1, max: 48 })
  fc.assert(
    fc.property(
      hours,
      fc.array(fc.record({ made: hours, lasts: hours }), { maxLength: 4 }),
      fc.option(hours, { nil: undefined }),
      fc.integer({ min: 0, max: 120 }),
      (ttl, extensions, most, now) => {
        const caps = most === undefined ? {} : { maxTtlMs: most * HOUR }
        const made = extensions.filter((e) => e.made <= now)
        const holds = made.map((e) => extension(timestamp(after((e.made + e.lasts) * HOUR)), after(e.made * HOUR)))
        const found = lifetimeOf(cluster(`${ttl}h`), holds, caps, after(now * HOUR))
        const ends = [[0, ttl] as const, ...made.map((e) => [e.made, e.lasts] as const)].map(
          ([from, lasts]) => from + Math.min(lasts, most ?? lasts),
        )
        expect(found.state === 'Expired').toBe(Math.max(...ends) <= now)
      },
    ),
  )
})
