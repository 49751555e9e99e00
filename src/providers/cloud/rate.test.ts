// The token bucket of one account, on a clock that jumps, against a vendor that counts differently.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { settled, VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { type FakeLimit, FakeRegion } from '#test/doubles/clouds/region.ts'
import { seededRandom } from '#lib/random.ts'
import { type Limit, Rate } from './rate.ts'

const PER_MINUTE = 60
const LIMIT = { perSecond: PER_MINUTE / 60, burst: 6 }

interface World {
  readonly clock: VirtualClock
  readonly region: FakeRegion
  rate: Rate
}

function world(): World {
  const clock = new VirtualClock()
  const region = new FakeRegion({
    clock,
    random: seededRandom(1),
    name: 'r',
    limitOf: () => ({ kind: 'Minute', calls: PER_MINUTE }),
  })
  return { clock, region, rate: rateOn(clock) }
}

const rateOn = (clock: VirtualClock): Rate => new Rate({ clock, limitOf: () => LIMIT, period: 'Minute' })

/** A machine that wants a host: it comes back when the rate allows. Returns how often it came. */
async function wants({ clock, region, rate }: World, isAlive = () => true): Promise<number> {
  for (let tries = 1; ; tries++) {
    const turn = await rate.take('Run')
    if (!isAlive()) return tries
    if (turn.kind === 'Wait') {
      await clock.sleep(turn.ms)
      continue
    }
    const refused = region.refusal('Run')
    turn.answered()
    if (refused === undefined) return tries
    await clock.sleep(rate.throttled('Run', refused))
  }
}

const done = async <T>(clock: VirtualClock, work: Promise<T>): Promise<T> => {
  const state = { isDone: false }
  void work.finally(() => (state.isDone = true)).catch(() => undefined)
  for (await settled(); !state.isDone; await settled()) if (!clock.fireNext()) throw new Error('it waits for nothing')
  return work
}

/** With an immediate answer. */
async function call(clock: VirtualClock, rate: Rate): Promise<void> {
  const turn = await done(clock, rate.take('Run'))
  if (turn.kind === 'Go') turn.answered()
}

/** A starting program waits this long for its first call. */
const FIRST_MS = Math.ceil(1_000 / (LIMIT.perSecond * 0.85))

describe('a rate', () => {
  test('serves a crowd in little more than the time that the vendor permits, without one call too many', async () => {
    const w = world()
    const tries = await done(w.clock, Promise.all(Array.from({ length: 300 }, () => wants(w))))
    expect(w.region.overLimit).toBe(0)
    expect(w.clock.monotonic()).toBeLessThanOrEqual((300 / PER_MINUTE) * 60_000 * 1.3)
    // Without individual times each would come back every ten seconds.
    expect(tries.reduce((a, b) => a + b, 0) / tries.length).toBeLessThan(8)
  })

  test('has no call saved up when its program starts: the one before may have used them', async () => {
    const w = world()
    for (let starts = 0; starts < 200; starts++) {
      w.rate = rateOn(w.clock)
      const life = w.rate
      void Promise.all(Array.from({ length: 30 }, () => wants(w, () => w.rate === life)))
      await w.clock.advance(starts < 4 ? 14_000 : 300)
    }
    expect(w.region.overLimit).toBe(0)
  })

  test('saves up no more than what may be called at once', async () => {
    const { clock, rate } = world()
    await call(clock, rate)
    await clock.advance(3_600_000)
    const free = await Promise.all(Array.from({ length: 5 }, () => rate.take('Run')))
    expect(free.every((t) => t.kind === 'Go')).toBe(true)
    for (const turn of free) if (turn.kind === 'Go') turn.answered()
    const start = clock.monotonic()
    await call(clock, rate)
    expect(clock.monotonic()).toBeGreaterThan(start)
  })

  test('keeps each action for itself', async () => {
    const { clock, rate } = world()
    await done(clock, Promise.all([rate.take('Run'), rate.take('Describe')]))
    expect(clock.monotonic()).toBeLessThan((2 / LIMIT.perSecond) * 1_000)
  })

  test('keeps the place of a call until it is answered: it may arrive as late as that', async () => {
    const { clock, rate } = world()
    const first = await done(clock, rate.take('Run'))
    await clock.advance(3_600_000)
    const free = await Promise.all(Array.from({ length: 4 }, () => rate.take('Run')))
    const fifth = rate.take('Run')
    await clock.advance(10_000)
    expect(await Promise.race([fifth, settled().then(() => 'waits')])).toBe('waits')
    for (const turn of [first, first, ...free]) if (turn.kind === 'Go') turn.answered()
    expect(await done(clock, fifth)).toMatchObject({ kind: 'Go' })
  })

  test('stops until the next minute after a refusal, and goes on at half the pace', async () => {
    const { clock, rate } = world()
    await clock.advance(20_000 - FIRST_MS)
    await call(clock, rate)
    expect(rate.throttled('Run', undefined)).toBe(40_000)
    expect(await rate.take('Run')).toMatchObject({ kind: 'Wait' })
    await clock.advance(40_000)
    const begun = clock.monotonic()
    await call(clock, rate)
    await call(clock, rate)
    expect(clock.monotonic() - begun).toBeGreaterThan(2 * 1_000)
  })

  test('refusals of calls that were on their way together count once', async () => {
    const { clock, rate } = world()
    await call(clock, rate)
    for (let i = 0; i < 10; i++) rate.throttled('Run', 1_000)
    await clock.advance(1_000)
    const begun = clock.monotonic()
    await call(clock, rate)
    expect(clock.monotonic() - begun).toBeLessThan(4_000)
  })

  test('a call that is given up leaves the line, and those behind it move up', async () => {
    const { clock, rate } = world()
    await call(clock, rate)
    const stop = new AbortController()
    const first = rate.take('Run', stop.signal)
    const second = rate.take('Run')
    stop.abort(new Error('too late'))
    await expect(first).rejects.toThrow('too late')
    const begun = clock.monotonic()
    await done(clock, second)
    expect(clock.monotonic() - begun).toBeLessThan(1_300)
  })

  test('those who are sent away come back at different times, and none after more than two minutes', async () => {
    const { rate } = world()
    const turns = Array.from({ length: 200 }, () => rate.take('Run'))
    const waits = await Promise.all(turns.map((t) => Promise.race([t, settled().then(() => undefined)]))).then((all) =>
      all.flatMap((t) => (t?.kind === 'Wait' ? [t.ms] : [])),
    )
    expect(Math.max(...waits)).toBeLessThanOrEqual(120_000)
    expect(new Set(waits).size).toBeGreaterThan(90)
  })
})

/** What a vendor may count, in both of its ways, and what a provider assumes. */
const anyLimit = fc.oneof(
  fc.integer({ min: 20, max: 600 }).map((calls): [FakeLimit, Limit] => [
    { kind: 'Minute', calls },
    { perSecond: calls / 60, burst: Math.max(1, Math.floor(calls / 10)) },
  ]),
  fc
    .tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 2, max: 100 }))
    .map(([perSecond, burst]): [FakeLimit, Limit] => [
      { kind: 'Bucket', perSecond, burst },
      { perSecond, burst },
    ]),
)

const anyWave = fc.record({ wanted: fc.integer({ min: 0, max: 40 }), thenMs: fc.integer({ min: 0, max: 4_000 }) })
/** One program, from start to end. */
const anyLife = fc.array(anyWave, { minLength: 1, maxLength: 4 })

/** The caller may leave before the answer: the call arrives anyway. */
const anyWay = fc.record({ isSlow: fc.boolean(), isLeft: fc.boolean() })

test('a rate lets no call arrive beyond the limit, however long each is under way, left alone or not, in however many lives', () =>
  fc.assert(
    fc.asyncProperty(
      anyLimit,
      fc.array(anyLife, { minLength: 1, maxLength: 20 }),
      fc.constantFrom(0, 500, 5_000),
      fc.infiniteStream(anyWay),
      async ([vendors, limit], lives, longestMs, ways) => {
        const clock = new VirtualClock()
        const region = new FakeRegion({ clock, random: seededRandom(1), name: 'r', limitOf: () => vendors })
        let life = 0
        const one = async (mine: number, rate: Rate) => {
          const turn = await rate.take('Run')
          // The others would come back later.
          if (turn.kind === 'Wait' || mine !== life) return
          const { isSlow, isLeft } = ways.next().value ?? { isSlow: false, isLeft: false }
          if (isLeft) turn.left()
          await clock.sleep(isSlow ? longestMs : 0)
          region.refusal('Run')
          if (!isLeft) turn.answered()
        }
        for (const waves of lives) {
          const mine = ++life
          const rate = new Rate({
            clock,
            limitOf: () => limit,
            period: vendors.kind === 'Minute' ? 'Minute' : 'Second',
          })
          const begun = clock.monotonic()
          for (const { wanted, thenMs } of waves) {
            for (let i = 0; i < wanted; i++) void one(mine, rate)
            await clock.advance(thenMs)
          }
          // It is not killed again before the calls of the life before have arrived; the next one starts at once.
          await clock.advance(Math.max(0, longestMs - (clock.monotonic() - begun)))
          life++
        }
        expect(region.overLimit).toBe(0)
      },
    ),
    { numRuns: 80 },
  ))
