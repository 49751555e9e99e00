// Decides when an idle program collects garbage. The engine itself would wait for tens of megabytes, which takes an hour when idle.
import { performance } from 'node:perf_hooks'
import { memoryUsage } from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { constants, createContext } from 'node:vm'
import type { Clock, Timer } from '#lib/clock.ts'
import { MIB } from './bytes.ts'

export interface RestBounds {
  readonly checkEveryMs: number
  /** Less garbage is not worth the pause of a full collection. */
  readonly growthBytes: number
  /** A full collection takes about 1 ms per live MiB. A larger heap is left to the engine, which marks in the background. */
  readonly largestHeapBytes: number
  /** Busy share of the event loop since the last check. Above it, clients would wait for the collection. */
  readonly restingUtilization: number
}

export const REST_BOUNDS: RestBounds = {
  checkEveryMs: 5_000,
  growthBytes: 8 * MIB,
  largestHeapBytes: 96 * MIB,
  restingUtilization: 0.2,
}

/** The engine functions used here. */
export interface Engine {
  /** Heap in use, including garbage. */
  memory(): { readonly heapBytes: number; readonly outsideBytes: number }
  /** Share of the time since the last call. */
  utilization(): number
  /** `thoroughly` also returns memory to the system, which takes a few times as long. */
  collect(thoroughly: boolean): void
}

/**
 * Checks periodically until the returned function is called. A program's first rest comes right after its start: most of its memory is left over from loading
 * and the first caches, and never needed again.
 */
export function collectAtRest(clock: Pick<Clock, 'after'>, engine: Engine, bounds = REST_BOUNDS): () => void {
  let least: number | undefined
  let timer: Timer
  const check = (): void => {
    const { heapBytes, outsideBytes } = engine.memory()
    const used = heapBytes + outsideBytes
    const isResting = engine.utilization() <= bounds.restingUtilization
    // The engine may have collected meanwhile.
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
 * The engine only gives this function to a context created under a flag. As a command line flag it would slow every start by a fifth, because Node's compiled
 * code is cached for processes without it.
 */
function collector(): NodeJS.GCFunction {
  setFlagsFromString('--expose-gc')
  try {
    return createContext(constants.DONT_CONTEXTIFY)['gc'] as NodeJS.GCFunction
  } finally {
    setFlagsFromString('--no-expose-gc')
  }
}
