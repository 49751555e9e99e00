// A bound on the work that one request may cause. Code that works on the input of a stranger spends from it before each part of the work.

/** Thrown when nothing is left. The code that made the effort turns it into an answer. */
export class EffortSpent extends Error {
  constructor() {
    super('this takes more work than one request may cause')
  }
}

/** Counted in steps of some 50 ns, so that the same input gets the same answer on a slow machine and on a fast one. */
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
