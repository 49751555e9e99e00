// One loop: runs some time after one of its resources has changed, and periodically in any case; never twice at once.
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Timer } from '#lib/clock.ts'
import type { ServerParts } from '../handlers/context.ts'

export interface LoopSpec {
  readonly name: string
  /** Resources whose changes wake it. */
  readonly resources: readonly string[]
  /** After a change, so that a burst causes one run. */
  readonly settleMs: number
  /** Without a change. */
  readonly everyMs: number
  /** May request an earlier run, in so many milliseconds. */
  readonly look: () => Promise<number | void>
}

export interface Loop {
  /** Requests a run soon. */
  wake(): void
  /** Resolves when the current run is done. */
  stop(): Promise<void>
}

export function startLoop({ store, clock }: ServerParts, log: Logger, spec: LoopSpec): Loop {
  let timer: Timer | undefined
  let due = Infinity
  let running: Promise<void> | undefined
  let stopped = false
  const scheduleIn = (ms: number) => {
    const at = clock.monotonic() + ms
    if (stopped || at >= due) return
    timer?.cancel()
    due = at
    timer = clock.after(ms, run)
  }
  const run = () => {
    due = Infinity
    if (running !== undefined) return scheduleIn(spec.settleMs)
    running = spec
      .look()
      .catch((e: unknown) => log.error('loop failed', { loop: spec.name, reason: messageOf(e) }))
      .then((askedMs) => {
        running = undefined
        scheduleIn(Math.min(spec.everyMs, Math.max(spec.settleMs, askedMs ?? Infinity)))
      })
  }
  const wake = () => scheduleIn(spec.settleMs)
  const stops = spec.resources.map((r) => store.collection(r).watch({ namespace: undefined, name: undefined }, wake))
  scheduleIn(spec.settleMs)
  return {
    wake,
    async stop() {
      stopped = true
      timer?.cancel()
      for (const stop of stops) stop()
      await running
    },
  }
}
