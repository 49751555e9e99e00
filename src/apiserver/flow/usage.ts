// What each client has used, in milliseconds of a processor, on a clock that runs as fast as those who are served: who used little
// comes before who used much, and nobody saves up by being idle (start-time fair queueing).

/** Clients that are remembered; beyond it the half that used least counts as if each had used as much. */
const REMEMBERED = 8_192

export class Usage {
  /** Up to where each has used its turns; those who are not here, or behind the present, are at the present. */
  readonly #leads = new Map<string, number>()
  #present = 0

  standing(flow: string): number {
    return Math.max(this.#leads.get(flow) ?? 0, this.#present)
  }

  /** A request of this client begins: time is where the client stands. */
  began(flow: string): void {
    this.#present = this.standing(flow)
  }

  charge(flow: string, ms: number): void {
    this.#leads.set(flow, this.standing(flow) + ms)
    if (this.#leads.size <= REMEMBERED) return
    this.#forget()
    if (this.#leads.size <= REMEMBERED / 2) return
    const sorted = [...this.#leads.values()].toSorted((a, b) => a - b)
    this.#present = sorted[Math.floor(sorted.length / 2)] ?? this.#present
    this.#forget()
  }

  get remembered(): number {
    return this.#leads.size
  }

  #forget(): void {
    for (const [name, lead] of this.#leads) if (lead <= this.#present) this.#leads.delete(name)
  }
}
