// Counts problems under node-problem-detector's names: how often each reason happened, and which reason each condition has now.
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Reasons and conditions come from bounded files; more than this is a mistake. */
const MAX_SERIES = 1_024

export class ProblemMetrics {
  readonly #counts = new Map<string, number>()
  /** Condition → reason → whether it is true. */
  readonly #gauges = new Map<string, Map<string, number>>()

  /** Exports it as zero before it ever happened. */
  declare(reason: string, condition?: string): void {
    this.count(reason, 0)
    if (condition !== undefined && this.#gauges.get(condition)?.has(reason) !== true) this.#set(condition, reason, 0)
  }

  count(reason: string, by = 1): void {
    const before = this.#counts.get(reason)
    if (before === undefined && this.#counts.size >= MAX_SERIES) return
    this.#counts.set(reason, (before ?? 0) + by)
  }

  /** At most one reason of a condition is 1. */
  show(condition: string, reason: string, isTrue: boolean): void {
    const reasons = this.#gauges.get(condition)
    for (const other of reasons?.keys() ?? []) reasons?.set(other, 0)
    this.#set(condition, reason, isTrue ? 1 : 0)
  }

  get counters(): readonly Sample[] {
    return [...this.#counts].map(([reason, value]) => ({ labels: { reason }, value }))
  }

  get gauges(): readonly Sample[] {
    return [...this.#gauges].flatMap(([type, reasons]) =>
      [...reasons].map(([reason, value]) => ({ labels: { reason, type }, value })),
    )
  }

  #set(condition: string, reason: string, value: number): void {
    const reasons = this.#gauges.get(condition) ?? new Map<string, number>()
    if (this.#gauges.size >= MAX_SERIES || reasons.size >= MAX_SERIES) return
    this.#gauges.set(condition, reasons.set(reason, value))
  }
}
