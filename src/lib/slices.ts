// Runs work that is made of steps without stopping everything else: after some milliseconds of it, others have a turn.
import { setImmediate } from 'node:timers/promises'

/** Leases, health checks and clients wait no longer than this, and one step. */
const SLICE_MS = 20

/** Each `yield` is a place where others may go first. */
export async function inSlices<T>(steps: Generator<void, T>, sliceMs = SLICE_MS): Promise<T> {
  for (let until = performance.now() + sliceMs; ;) {
    const step = steps.next()
    if (step.done === true) return step.value
    if (performance.now() < until) continue
    await setImmediate()
    until = performance.now() + sliceMs
  }
}

/** All at once: for programs that do nothing else. */
export function atOnce<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
