import { expect, test } from 'vitest'
import type { Timer } from '#lib/clock.ts'
import { seededRandom } from '#lib/random.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { Probe } from './probe.ts'
import { Prober } from './prober.ts'

const probe: Probe = {
  name: 'http',
  http: { port: 1, path: '/', tls: false },
  interval: '1h',
  timeout: '1s',
  settle: '1s',
}

/** Like a real machine: time passes between two clock readings, and timers fire slightly early. */
class RealClock extends VirtualClock {
  readonly #earlyMs: number
  #looks = 0

  constructor(earlyMs: number) {
    super()
    this.#earlyMs = earlyMs
  }

  override monotonic(): number {
    return super.monotonic() + this.#looks++ * POLL_MS
  }

  override after(ms: number, fn: () => void): Timer {
    return super.after(ms - this.#earlyMs, fn)
  }
}

const POLL_MS = 0.1

const EARLY_MS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]

const PROBES = [
  { what: 'a probe that holds', probes: [probe] },
  { what: 'a component without probes', probes: [] },
]

test.each(PROBES.flatMap((row) => EARLY_MS.map((earlyMs) => ({ ...row, earlyMs }))))(
  '$what settles, with timers $earlyMs ms early',
  async ({ earlyMs, probes }) => {
    const clock = new RealClock(earlyMs)
    let isSettled = false
    const prober: Prober = new Prober(
      {
        clock,
        random: seededRandom(1),
        runProbe: () => Promise.resolve({ kind: 'Pass' }),
        onChange: () => {
          isSettled = prober.reading().isSettled
        },
      },
      probes,
    )
    await clock.advance(10_000)
    expect(isSettled).toBe(true)
    prober.close()
  },
)

/** A signal stops the agent: time passes, and the agent does nothing until it is continued. */
class StoppableClock extends VirtualClock {
  #offset = 0

  override monotonic(): number {
    return super.monotonic() + this.#offset
  }

  stopFor(ms: number): void {
    this.#offset += ms
  }
}

test('F42 after the agent itself stood still the settle time begins again', async () => {
  const clock = new StoppableClock()
  const slow = { ...probe, interval: '5s', settle: '20s' }
  const looks: number[] = []
  const prober = new Prober(
    {
      clock,
      random: seededRandom(1),
      runProbe: () => {
        looks.push(clock.monotonic())
        return Promise.resolve({ kind: 'Pass' })
      },
      onChange: () => undefined,
    },
    [slow],
  )
  await clock.advance(10_000)
  clock.stopFor(50_000)
  await clock.advance(10_000)
  expect([prober.reading().isSettled, looks.length > 3]).toEqual([false, true])
  await clock.advance(15_000)
  expect(prober.reading().isSettled).toBe(true)
  prober.close()
})

test('F42 an answer that took the time in which the agent stood still counts for nothing', async () => {
  const clock = new StoppableClock()
  let answers = 0
  const prober = new Prober(
    {
      clock,
      random: seededRandom(1),
      runProbe: () => {
        if (answers++ === 1) clock.stopFor(50_000)
        return Promise.resolve(answers === 2 ? { kind: 'NoAnswer', message: 'no answer within 1 s' } : { kind: 'Pass' })
      },
      onChange: () => undefined,
    },
    [{ ...probe, settle: '5s' }],
  )
  await clock.advance(2_000)
  expect([prober.reading().verdict, answers >= 2]).toEqual(['Passing', true])
  prober.close()
})
