// Work of the console that takes a whole core: one after the other, and only a few wait.
import { KubeNodeError } from '#lib/errors.ts'
import { consoleRepositoryErrors } from './repository-errors.ts'

/** Of one person with several tabs. */
const MOST_WAITING = 8

export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= MOST_WAITING)
      throw new KubeNodeError(consoleRepositoryErrors.KN1720({ most: MOST_WAITING }), { retry: 'later' })
    this.#waiting++
    const own = this.#last.then(work, work)
    this.#last = own.catch(() => undefined)
    try {
      return await own
    } finally {
      this.#waiting--
    }
  }
}
