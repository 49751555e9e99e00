// A limit on the work one request may cause. Code that processes untrusted input spends from it before each step.

/** Thrown when nothing is left. The code that created the effort turns it into a response. */
export class EffortSpent extends Error {
  constructor() {
    super('this takes more work than one request may cause')
  }
}

/** Counted in steps of about 50 ns, so that slow and fast machines give the same answer. */
export class Effort {
  #left: number

  constructor(steps: number) {
    this.#left = steps
  }

  /** Throws EffortSpent. */
  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new EffortSpent()
  }
}
