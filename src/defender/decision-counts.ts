// How each policy decided in the last hour, as far as this process observed it: each target of a permit counts once per verdict. A policy in mode
// Audit counts what it would have decided. Times come from a stopwatch.
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { PermitDecision } from './plan.ts'

export type Decisions = NonNullable<NonNullable<DefenderPolicy['status']>['decisions']>
type Verdict = keyof Decisions

const MINUTE_MS = 60_000
const MINUTES = 60
/** Deleted policies are dropped after their last minute. */
const NONE: Decisions = { granted: 0, waiting: 0, denied: 0 }

const VERDICTS = { Granted: 'granted', Waiting: 'waiting', Denied: 'denied' } as const

interface Minute {
  readonly minute: number
  readonly counts: Record<Verdict, number>
}

export class DecisionCounts {
  /** By policy and permit target: the last counted verdict. */
  #last: ReadonlyMap<string, Verdict> = new Map()
  readonly #minutes = new Map<string, Minute[]>()

  observe(permits: readonly PermitDecision[], now: number): void {
    const last = new Map<string, Verdict>()
    for (const { permit, targets } of permits)
      for (const { target, judged = [] } of targets)
        for (const { policy, verdict } of judged) {
          const key = `${policy}\n${permit.metadata.uid ?? ''}\n${target}`
          last.set(key, VERDICTS[verdict])
          if (this.#last.get(key) !== VERDICTS[verdict]) this.#count(policy, VERDICTS[verdict], now)
        }
    this.#last = last
  }

  of(policy: string, now: number): Decisions {
    const oldest = Math.floor(now / MINUTE_MS) - MINUTES
    const live = (this.#minutes.get(policy) ?? []).filter((m) => m.minute > oldest)
    return live.reduce<Decisions>(
      (sum, { counts }) => ({
        granted: sum.granted + counts.granted,
        waiting: sum.waiting + counts.waiting,
        denied: sum.denied + counts.denied,
      }),
      NONE,
    )
  }

  #count(policy: string, verdict: Verdict, now: number): void {
    const minute = Math.floor(now / MINUTE_MS)
    const live = (this.#minutes.get(policy) ?? []).filter((m) => m.minute > minute - MINUTES)
    const last = live.at(-1)
    if (last?.minute === minute) last.counts[verdict]++
    else live.push({ minute, counts: { ...NONE, [verdict]: 1 } })
    this.#minutes.set(policy, live)
  }
}
