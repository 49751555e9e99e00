// Counts of something that clients hold for a while (bytes of bodies, open watches), bounded for one client and for all.

export class Shares {
  readonly #perFlow: number
  readonly #total: number
  readonly #held = new Map<string, number>()
  #sum = 0

  constructor(perFlow: number, total: number) {
    this.#perFlow = perFlow
    this.#total = total
  }

  get held(): number {
    return this.#sum
  }

  /** False when that would be more than allowed; `most` is a narrower bound for this flow. */
  take(flow: string, amount: number, most = this.#perFlow): boolean {
    const held = (this.#held.get(flow) ?? 0) + amount
    if (held > Math.min(most, this.#perFlow) || this.#sum + amount > this.#total) return false
    this.#held.set(flow, held)
    this.#sum += amount
    return true
  }

  give(flow: string, amount: number): void {
    const left = (this.#held.get(flow) ?? 0) - amount
    this.#sum -= amount
    if (left > 0) this.#held.set(flow, left)
    else this.#held.delete(flow)
  }
}
