// Preloaded into real programs (`node --import`): their time is that of this machine and as many minutes more as a file says. When it says more, long waits
// that would be over by then are. TLS knows no such clock, so certificates must be valid at the real time, too.
import { readFileSync } from 'node:fs'

const FILE = process.env['KUBENODE_TEST_TIME'] ?? ''
const LOOK_EVERY_MS = 50
/** Shorter ones belong to requests and leases, which must not be cut off. */
const LEAST_MOVED_MS = 300_000

const Real = Date
const { setTimeout: realSet, clearTimeout: realClear } = globalThis
const shiftInFile = (): number => Math.round(Number(readFileSync(FILE, 'utf8')) * 60_000)
let shiftMs = shiftInFile()
const now = (): number => Real.now() + shiftMs

class ShiftedDate extends Real {
  constructor(...given: readonly unknown[]) {
    super(...((given.length === 0 ? [now()] : given) as [number]))
  }
  static override now = now
}
globalThis.Date = ShiftedDate as DateConstructor

// Durations, too, of a program that waits by them: one that leads would take it for a lease that it lost.
if (process.env['KUBENODE_TEST_TIME_PASSES'] === '1') {
  const began = shiftMs
  const realPassed = performance.now.bind(performance)
  Object.defineProperty(performance, 'now', { value: () => realPassed() + shiftMs - began })
}

class Wait {
  readonly #due: number
  readonly #run: () => void
  #timer: NodeJS.Timeout

  constructor(ms: number, run: () => void) {
    this.#due = now() + ms
    this.#run = () => {
      waiting.delete(this)
      run()
    }
    this.#timer = realSet(this.#run, ms)
    waiting.add(this)
  }

  move(): void {
    realClear(this.#timer)
    this.#timer = realSet(this.#run, Math.max(0, this.#due - now()))
    this.#timer.unref()
  }

  end(): void {
    realClear(this.#timer)
    waiting.delete(this)
  }

  unref(): this {
    this.#timer.unref()
    return this
  }

  ref(): this {
    this.#timer.ref()
    return this
  }
}
const waiting = new Set<Wait>()

const set = (run: (...args: readonly unknown[]) => void, ms = 0, ...args: readonly unknown[]): unknown =>
  ms < LEAST_MOVED_MS ? realSet(run, ms, ...args) : new Wait(ms, () => run(...args))
const clear = (timer: unknown): void => (timer instanceof Wait ? timer.end() : realClear(timer as NodeJS.Timeout))
Object.assign(globalThis, { setTimeout: set, clearTimeout: clear })

setInterval(() => {
  const next = shiftInFile()
  if (next === shiftMs) return
  shiftMs = next
  for (const wait of waiting) wait.move()
}, LOOK_EVERY_MS).unref()
