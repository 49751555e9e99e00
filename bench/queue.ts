// How many keys a second the work queue moves: add with duplicates, take, done, with one in ten delayed and one in ten urgent.
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { seededRandom } from '#lib/random.ts'
import { WorkQueue } from '#runtime/queue.ts'
import type { BenchOptions, BenchResult, Figures } from './result.ts'

const KEYS = 10_000
const ROUNDS = 30
/** The median of so many runs is printed; the first one, which warms up, is not among them. */
const RUNS = 5

/** A clock that moves only by `tick`, so that the figure is the queue's and not the timers'. */
function standingClock() {
  let now = 0
  let due: (() => void)[] = []
  const clock: Pick<Clock, 'monotonic' | 'after'> = {
    monotonic: () => now,
    after: (_, fn) => {
      due.push(fn)
      return { cancel: () => void (due = due.filter((f) => f !== fn)) }
    },
  }
  const tick = (ms: number) => {
    now += ms
    for (const fn of due.splice(0)) fn()
  }
  return { clock, tick }
}

/** Operations are calls that others make: add, addAfter, tryTake, done. */
function opsPerSecond(rounds: number): number {
  const { clock, tick } = standingClock()
  const queue = new WorkQueue({ clock, random: seededRandom(1), capacity: 2 * KEYS })
  const keys = Array.from({ length: KEYS }, (_, i) => `machine-${i}`)
  const startedAt = systemClock.monotonic()
  let ops = 0
  for (let round = 0; round < rounds; round++) {
    for (const [i, key] of keys.entries()) {
      if (i % 10 === 0) queue.addAfter(key, 1 + (i % 97))
      else queue.add(key, { urgent: i % 10 === 1 })
      queue.add(keys[(i * 7) % KEYS] ?? key)
      ops += 2
    }
    for (let key = queue.tryTake(); key !== undefined; key = queue.tryTake()) {
      if (ops % 16 === 0) queue.add(key)
      queue.done(key)
      ops += 2
    }
    tick(100)
  }
  return ops / ((systemClock.monotonic() - startedAt) / 1_000)
}

export const smoke: Figures = { rounds: 1 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const rounds = numbers['rounds'] ?? ROUNDS
  opsPerSecond(rounds)
  const rates = Array.from({ length: RUNS }, () => opsPerSecond(rounds)).sort((a, b) => a - b)
  return { figures: { ops_per_s: Math.round(rates[Math.floor(RUNS / 2)] ?? 0) }, peer: null, ratio: {} }
}
