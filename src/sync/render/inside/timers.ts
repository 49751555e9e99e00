// Timers for a fleet: they fire in order of their times without waiting, so that none can measure time.

interface Timer {
  readonly id: number
  readonly run: () => void
  readonly everyMs: number | undefined
  at: number
}

/** Same as Node: no timer fires immediately, so a zero cannot overtake an immediate. */
const MIN_MS = 1

export function virtualTimers(soon: (run: () => void) => unknown): Readonly<Record<string, unknown>> {
  const waiting = new Map<number, Timer>()
  let [now, ids, isPumping] = [0, 0, false]

  const pump = (): void => {
    let next: Timer | undefined
    for (const timer of waiting.values()) if (next === undefined || timer.at < next.at) next = timer
    if (next === undefined) return void (isPumping = false)
    now = Math.max(now, next.at)
    if (next.everyMs === undefined) waiting.delete(next.id)
    else next.at = now + next.everyMs
    // Do this first: the callback's exception ends the run elsewhere, and must not stop the other timers when fleet code catches it.
    soon(pump)
    next.run()
  }
  const start = (run: unknown, ms: number, everyMs?: number, args: readonly unknown[] = []): object => {
    if (typeof run !== 'function') throw new TypeError('a timer needs a function')
    const id = ++ids
    waiting.set(id, { id, run: () => void Reflect.apply(run, undefined, args), everyMs, at: now + ms })
    if (!isPumping) soon(pump)
    isPumping = true
    return handle(id)
  }
  const stop = (timer: unknown): void => void waiting.delete(Number(timer))
  const length = (ms: unknown): number => {
    const number = Number(ms)
    return number >= MIN_MS ? number : MIN_MS
  }
  return {
    setTimeout: (run: unknown, ms?: unknown, ...args: readonly unknown[]) => start(run, length(ms), undefined, args),
    setInterval: (run: unknown, ms?: unknown, ...args: readonly unknown[]) => start(run, length(ms), length(ms), args),
    setImmediate: (run: unknown, ...args: readonly unknown[]) => start(run, 0, undefined, args),
    clearTimeout: stop,
    clearInterval: stop,
    clearImmediate: stop,
  }
}

const handle = (id: number): object => {
  const self: object = Object.freeze({
    ref: () => self,
    unref: () => self,
    hasRef: () => true,
    [Symbol.toPrimitive]: () => id,
  })
  return self
}
