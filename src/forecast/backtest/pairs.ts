// Pairs the jobs of two sources: first by name, else by node, rule, rung and attempt within some time. What finds no partner is reported once that time is over.

export interface Paired {
  readonly name: string
  /** Node, rule, rung, attempt and whether it is a dry run. */
  readonly key: string
  readonly at: number
}

export interface PairsOptions<A, B> {
  readonly windowMs: number
  readonly onPair: (first: A, second: B) => void
  readonly onFirstAlone: (first: A) => void
  readonly onSecondAlone: (second: B) => void
}

export class Pairs<A extends Paired, B extends Paired> {
  readonly #options: PairsOptions<A, B>
  /** By name, in the order of time. */
  readonly #first = new Map<string, A>()
  readonly #second = new Map<string, B>()

  constructor(options: PairsOptions<A, B>) {
    this.#options = options
  }

  putFirst(one: A): void {
    this.passed(one.at)
    const partner = this.#second.get(one.name)
    if (partner === undefined) this.#first.set(one.name, one)
    else {
      this.#second.delete(one.name)
      this.#options.onPair(one, partner)
    }
  }

  putSecond(one: B): void {
    this.passed(one.at)
    const partner = this.#first.get(one.name)
    if (partner === undefined) this.#second.set(one.name, one)
    else {
      this.#first.delete(one.name)
      this.#options.onPair(partner, one)
    }
  }

  /** What is older than the window looks for a partner by key. */
  passed(now: number): void {
    const before = now - this.#options.windowMs
    for (const [name, one] of this.#first) {
      if (one.at >= before) break
      this.#first.delete(name)
      const other = byKey(this.#second, one, this.#options.windowMs)
      if (other === undefined) this.#options.onFirstAlone(one)
      else this.#options.onPair(one, other)
    }
    for (const [name, one] of this.#second) {
      if (one.at >= before) break
      this.#second.delete(name)
      const other = byKey(this.#first, one, this.#options.windowMs)
      if (other === undefined) this.#options.onSecondAlone(one)
      else this.#options.onPair(other, one)
    }
  }

  end(): void {
    this.passed(Infinity)
  }
}

function byKey<T extends Paired>(others: Map<string, T>, { key, at }: Paired, windowMs: number): T | undefined {
  for (const [name, other] of others) {
    if (other.key !== key || Math.abs(other.at - at) > windowMs) continue
    others.delete(name)
    return other
  }
  return undefined
}
