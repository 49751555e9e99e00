// Limits the server time of one user's queries: past states and searches are computed per query, and meanwhile no other user is served.
import type { Clock } from '#lib/clock.ts'
import { Semaphore } from '#lib/semaphore.ts'
import { type Steps, inSteps } from '#lib/steps.ts'
import { groupOf } from './fair-share.ts'
import { Refused } from './request.ts'
import type { SignedIn } from './sessions.ts'

/** A user gets a fifth of one core. */
const PAID_OFF = 5
/** Two seconds at once: a minute of moving a slider over 10,000 machines. */
const MOST_OWED_MS = 10_000
const MOST_DEBTORS = 1_024

/** Each holds the last rows of some ten thousand objects meanwhile. */
const MOST_LONG = 2
const MOST_WAITING = 100

export class TimeShares {
  readonly #clock: Pick<Clock, 'monotonic'>
  /** When each user's debt of used time is paid off. */
  readonly #paidAt = new Map<string, number>()

  readonly #long = new Semaphore(MOST_LONG, {
    what: 'questions about the past',
    mostWaiting: MOST_WAITING,
    full: () => new Refused(503, 'Busy', 'too many questions about the past are waiting; ask again later'),
  })

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Accounts of one namespace count together. A link's user has the server alone. */
  run<T>(who: SignedIn, work: () => T): T {
    this.#admit(who)
    return this.#charged(who, work)
  }

  /** Others are answered between two steps. Each step is charged; a question that was admitted is answered. */
  async inSteps<T>(who: SignedIn, steps: Steps<T>, pause: () => Promise<unknown>): Promise<T> {
    this.#admit(who)
    return this.#long.run(() => inSteps(steps, pause, (step) => this.#charged(who, step)))
  }

  #admit({ person }: SignedIn): void {
    if (person.how === 'Link') return
    const owedMs = (this.#paidAt.get(groupOf(person.name)) ?? 0) - this.#clock.monotonic()
    if (owedMs > MOST_OWED_MS)
      throw new Refused(
        503,
        'Busy',
        `your questions took too much time of the server; ask again in ${Math.ceil((owedMs - MOST_OWED_MS) / 1_000)}s`,
      )
  }

  #charged<T>({ person }: SignedIn, work: () => T): T {
    if (person.how === 'Link') return work()
    const who = groupOf(person.name)
    const began = this.#clock.monotonic()
    const owedMs = (this.#paidAt.get(who) ?? 0) - began
    try {
      return work()
    } finally {
      const ended = this.#clock.monotonic()
      if (this.#paidAt.size >= MOST_DEBTORS) this.#forget(ended)
      // No query takes longer: this process was stopped meanwhile.
      const owed = Math.min((ended - began) * PAID_OFF, MOST_OWED_MS)
      this.#paidAt.set(who, Math.max(0, owedMs) + ended + owed)
    }
  }

  #forget(now: number): void {
    for (const [who, paidAt] of this.#paidAt) if (paidAt <= now) this.#paidAt.delete(who)
  }
}
