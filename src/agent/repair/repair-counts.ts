// How repair steps ended since the agent started, for its metrics.
import type { OperationName } from '#api/kinds/operations.ts'

export interface RepairCount {
  readonly operation: OperationName
  readonly outcome: string
  readonly count: number
}

export class RepairCounts {
  readonly #counts = new Map<string, RepairCount>()

  note(operation: OperationName, outcome: string): void {
    const key = `${operation} ${outcome}`
    this.#counts.set(key, { operation, outcome, count: (this.#counts.get(key)?.count ?? 0) + 1 })
  }

  get all(): readonly RepairCount[] {
    return [...this.#counts.values()]
  }
}
