// Counts problems under node-problem-detector's names: how often each reason happened, and which reason each condition has now.
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Reasons and conditions come from bounded files; more series than this are a mistake. */
const MAX_SERIES = 1_024

export class ProblemMetrics {
  readonly #counts = new Map<string, number>()
  /** Condition → reason → the source that currently reports it; undefined: none does. */
  readonly #gauges = new Map<string, Map<string, string | undefined>>()

  /** Exports the counter as zero before the reason first occurs. */
  declare(reason: string, condition?: string): void {
    this.count(reason, 0)
    if (condition !== undefined && this.#gauges.get(condition)?.has(reason) !== true)
      this.#set(condition, reason, undefined)
  }

  count(reason: string, by = 1): void {
    const before = this.#counts.get(reason)
    if (before === undefined && this.#counts.size >= MAX_SERIES) return
    this.#counts.set(reason, (before ?? 0) + by)
  }

  /** For each source, at most one reason of a condition is 1. */
  show(source: string, condition: string, reason: string, isTrue: boolean): void {
    const reasons = this.#gauges.get(condition)
    for (const [other, of] of reasons ?? []) if (of === source) reasons?.set(other, undefined)
    if (isTrue) this.#set(condition, reason, source)
    else if (reasons?.has(reason) !== true) this.#set(condition, reason, undefined)
  }

  get counters(): readonly Sample[] {
    return [...this.#counts].map(([reason, value]) => ({ labels: { reason }, value }))
  }

  get gauges(): readonly Sample[] {
    return [...this.#gauges].flatMap(([type, reasons]) =>
      [...reasons].map(([reason, source]) => ({ labels: { reason, type }, value: source === undefined ? 0 : 1 })),
    )
  }

  #set(condition: string, reason: string, source: string | undefined): void {
    const reasons = this.#gauges.get(condition) ?? new Map<string, string | undefined>()
    if (this.#gauges.size >= MAX_SERIES || reasons.size >= MAX_SERIES) return
    this.#gauges.set(condition, reasons.set(reason, source))
  }
}
