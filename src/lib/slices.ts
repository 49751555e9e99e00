// Runs work in steps without blocking everything else: yields after some milliseconds.
import { setImmediate } from 'node:timers/promises'

/** Leases, health checks and clients wait no longer than this plus one step. */
const SLICE_MS = 20

/** Other work may run at each `yield`. */
export async function inSlices<T>(steps: Generator<void, T>, sliceMs = SLICE_MS): Promise<T> {
  for (let until = performance.now() + sliceMs; ;) {
    const step = steps.next()
    if (step.done === true) return step.value
    if (performance.now() < until) continue
    await setImmediate()
    until = performance.now() + sliceMs
  }
}

/** Without pauses: for programs that do nothing else. */
export function atOnce<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
