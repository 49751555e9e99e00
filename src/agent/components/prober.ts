// Probes one running component at its declared interval, faster while it settles, and stores the result.
import type { Clock } from '#lib/clock.ts'
import { parseDuration } from '#lib/duration.ts'
import type { Random } from '#lib/random.ts'
import type { ProbeReading } from './seen.ts'
import type { Probe, ProbeAnswer } from './probe.ts'
import { afterAnswer, isUnaskable, newHistory, probeReading, type ProbeHistory } from './probe-verdict.ts'

export interface ProberDeps {
  readonly clock: Clock
  readonly random: Random
  /** `watchedMs`: time since the first probe of this process. */
  readonly runProbe: (probe: Probe, watchedMs: number) => Promise<ProbeAnswer>
  /** Called when the result may have changed. */
  readonly onChange: () => void
}

/** Interval while settling, so that a bad version is reverted quickly. */
const FASTEST_MS = 200
/** A component without probes must run for this long after a switch. */
const SETTLE_WITHOUT_PROBES_MS = 2_000
/** If a probe starts or ends this late, the agent itself was stopped, and the time in between is unknown. */
const STOOD_STILL_MS = 10_000

export class Prober {
  readonly #deps: ProberDeps
  readonly #probes: readonly Probe[]
  readonly #startedAt: number
  readonly #histories = new Map<string, ProbeHistory>()
  readonly #timers = new Map<string, { cancel(): void }>()
  /** Set by the timer instead of computed: a timer can fire a fraction of a millisecond early, and no second one follows. */
  #isSettledWithoutProbes = false
  #reported: ProbeReading | undefined
  #isClosed = false

  constructor(deps: ProberDeps, probes: readonly Probe[]) {
    this.#deps = deps
    this.#probes = probes
    this.#startedAt = deps.clock.monotonic()
    this.#beginAgain(this.#startedAt)
    for (const probe of probes) this.#schedule(probe, 0)
    if (probes.length === 0)
      this.#timers.set(
        '',
        deps.clock.after(SETTLE_WITHOUT_PROBES_MS, () => {
          this.#isSettledWithoutProbes = true
          deps.onChange()
        }),
      )
  }

  reading(): ProbeReading {
    return this.#readingAt(this.#deps.clock.monotonic())
  }

  get isUnaskable(): boolean {
    return isUnaskable(this.#histories)
  }

  #readingAt(now: number): ProbeReading {
    if (this.#probes.length === 0) return { verdict: 'Passing', isSettled: this.#isSettledWithoutProbes }
    return probeReading(this.#histories, now)
  }

  close(): void {
    this.#isClosed = true
    for (const timer of this.#timers.values()) timer.cancel()
  }

  /** Restarts the full settle time of every probe. */
  #beginAgain(now: number): void {
    for (const { name, settle } of this.#probes) this.#histories.set(name, newHistory(parseDuration(settle), now))
  }

  #schedule(probe: Probe, ms: number): void {
    if (this.#isClosed) return
    const { clock } = this.#deps
    const dueAt = clock.monotonic() + ms
    this.#timers.set(
      probe.name,
      clock.after(ms, () => void this.#runProbe(probe, dueAt)),
    )
  }

  async #runProbe(probe: Probe, dueAt: number): Promise<void> {
    const { clock, random } = this.#deps
    const beganAt = clock.monotonic()
    const answer = await this.#deps.runProbe(probe, beganAt - this.#startedAt)
    if (this.#isClosed) return
    // Reads the clock once: two readings could differ, and a probe that settled between them would wait for the next interval.
    const now = clock.monotonic()
    const isAnswerOld = now - beganAt >= parseDuration(probe.timeout) + STOOD_STILL_MS
    if (isAnswerOld || beganAt - dueAt >= STOOD_STILL_MS) this.#beginAgain(now)
    const history = this.#histories.get(probe.name)
    if (history === undefined) return
    const next = isAnswerOld ? history : afterAnswer(history, answer, now)
    this.#histories.set(probe.name, next)
    // A component can settle just by waiting: compare with the last reported result, not with the previous one.
    const [before, after] = [this.#reported, this.#readingAt(now)]
    this.#reported = after
    if (before?.verdict !== after.verdict || before.isSettled !== after.isSettled) this.#deps.onChange()
    this.#schedule(probe, this.#pauseMs(probe, next, { random, now }))
  }

  #pauseMs(
    probe: Probe,
    { settleMs, passingSince, last }: ProbeHistory,
    { random, now }: { readonly random: Random; readonly now: number },
  ): number {
    const intervalMs = parseDuration(probe.interval)
    const heldMs = passingSince === undefined ? 0 : now - passingSince
    const isSteady = last?.kind === 'Pass' && heldMs >= settleMs
    if (isSteady) return random.jitter(intervalMs)
    const soonMs = Math.min(intervalMs, Math.max(FASTEST_MS, settleMs / 5))
    return heldMs > 0 ? Math.min(soonMs, Math.max(1, settleMs - heldMs)) : soonMs
  }
}
