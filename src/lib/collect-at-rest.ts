// Decides when an idle program collects its garbage. The engine itself would wait for tens of megabytes of garbage, which takes an hour at idle.
import { performance } from 'node:perf_hooks'
import { memoryUsage } from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { constants, createContext } from 'node:vm'
import type { Clock, Timer } from '#lib/clock.ts'

const MIB = 1024 * 1024

export interface RestBounds {
  readonly checkEveryMs: number
  /** Less garbage than this is left alone: a full collection is not worth its pause. */
  readonly growthBytes: number
  /** A full collection takes about 1 ms for each live MiB: a larger heap is left to the engine, which marks in the background. */
  readonly largestHeapBytes: number
  /** Share of the time since the last check that the event loop was busy. Above it, clients would wait for the collection. */
  readonly restingUtilization: number
}

export const REST_BOUNDS: RestBounds = {
  checkEveryMs: 5_000,
  growthBytes: 8 * MIB,
  largestHeapBytes: 96 * MIB,
  restingUtilization: 0.2,
}

/** The functions of the engine used here. */
export interface Engine {
  /** Heap in use, alive or not. */
  memory(): { readonly heapBytes: number; readonly outsideBytes: number }
  /** Share of the time since the last call. */
  utilization(): number
  /** `thoroughly` gives the memory back to the system too, which takes a few times as long. */
  collect(thoroughly: boolean): void
}

/**
 * Checks periodically until the returned function is called. The first time that a program rests it has just started: most of its memory is
 * what loading and the first caches left, and none of that is needed again.
 */
export function collectAtRest(clock: Pick<Clock, 'after'>, engine: Engine, bounds = REST_BOUNDS): () => void {
  let least: number | undefined
  let timer: Timer
  const check = (): void => {
    const { heapBytes, outsideBytes } = engine.memory()
    const used = heapBytes + outsideBytes
    const isResting = engine.utilization() <= bounds.restingUtilization
    // the engine may have collected meanwhile
    if (least !== undefined) least = Math.min(least, used)
    const isWorthIt = least === undefined || used - least >= bounds.growthBytes
    if (isResting && heapBytes <= bounds.largestHeapBytes && isWorthIt) {
      engine.collect(least === undefined)
      const left = engine.memory()
      least = left.heapBytes + left.outsideBytes
    }
    timer = clock.after(bounds.checkEveryMs, check)
  }
  timer = clock.after(bounds.checkEveryMs, check)
  return () => timer.cancel()
}

export function thisEngine(): Engine {
  const gc = collector()
  let last = performance.eventLoopUtilization()
  return {
    memory: () => {
      const { heapUsed, arrayBuffers } = memoryUsage()
      return { heapBytes: heapUsed, outsideBytes: arrayBuffers }
    },
    utilization: () => {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, last)
      last = now
      return utilization
    },
    collect: (thoroughly) => {
      gc({ type: 'major', execution: 'sync', flavor: thoroughly ? 'last-resort' : 'regular' })
    },
  }
}

/**
 * The engine gives this function only to a context that is made under a flag. On the command line the flag would cost every start a fifth: the code of Node
 * itself is kept compiled for a process without it.
 */
function collector(): NodeJS.GCFunction {
  setFlagsFromString('--expose-gc')
  try {
    return createContext(constants.DONT_CONTEXTIFY)['gc'] as NodeJS.GCFunction
  } finally {
    setFlagsFromString('--no-expose-gc')
  }
}
