// What each client has used, in processor milliseconds, on a clock that runs as fast as the served clients: a client that used little
// comes first, and idle time earns no credit (start-time fair queueing).

/** Clients in memory; beyond it the half that used least counts as if each had used as much. */
const REMEMBERED = 8_192

export class Usage {
  /** The virtual time up to which each client has used its turns; missing or past entries count as the present. */
  readonly #leads = new Map<string, number>()
  #present = 0

  standing(flow: string): number {
    return Math.max(this.#leads.get(flow) ?? 0, this.#present)
  }

  /** A request of this client starts: the clock moves to the client's time. */
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
