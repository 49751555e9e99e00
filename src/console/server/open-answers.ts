// Responses on their way to browsers: unread ones stay in memory, so each user has a limit, and one that is not read in time is cut.
import type { ServerResponse } from 'node:http'
import type { Clock } from '#lib/clock.ts'
import { groupOf } from './fair-share.ts'
import { Refused } from './request.ts'
import type { SignedIn } from './sessions.ts'

/** Four browsers send this many queries at once. Most responses share their bytes: `shared-bodies.ts`. */
const MOST: Most = { ofPerson: 256, ofGroup: 1_024 }
/** Half a megabyte over a modem. */
const READ_MS = 60_000

interface Most {
  readonly ofPerson: number
  /** For all accounts of one namespace. */
  readonly ofGroup: number
}

type Answer = Pick<ServerResponse, 'destroy' | 'once'>

export class OpenAnswers {
  readonly #clock: Clock
  readonly #most: Most
  readonly #open = new Map<string, number>()
  readonly #closed = new WeakSet<Answer>()

  constructor(clock: Clock, most = MOST) {
    this.#clock = clock
    this.#most = most
  }

  /** Called when a query arrives: the browser may have left by the time the response is ready. */
  begin(response: Answer): void {
    response.once('close', () => this.#closed.add(response))
  }

  /** Called right before the response is sent. False if its browser has left. Throws if there is no room; the page retries. */
  add(response: Answer, { person }: SignedIn): boolean {
    if (this.#closed.has(response)) return false
    const { ofPerson, ofGroup } = this.#most
    const group = groupOf(person.name)
    const isFull = this.#openOf(person.name) >= ofPerson || this.#openOf(group) >= ofGroup
    // All browsers of a link belong to the user who started the console.
    if (isFull && person.how !== 'Link')
      throw new Refused(
        503,
        'Busy',
        'more answers to you are unread than one person may have; ask again when this browser has read some',
      )
    const counted = new Set([person.name, group])
    for (const who of counted) this.#open.set(who, this.#openOf(who) + 1)
    response.once('close', () => counted.forEach((who) => this.#leave(who)))
    this.watch(response)
    return true
  }

  /** Includes the page's files, which need no sign-in. */
  watch(response: Answer): void {
    const late = this.#clock.after(READ_MS, () => response.destroy())
    response.once('close', () => late.cancel())
  }

  #openOf = (who: string): number => this.#open.get(who) ?? 0

  #leave(who: string): void {
    const left = this.#openOf(who) - 1
    if (left === 0) this.#open.delete(who)
    else this.#open.set(who, left)
  }
}
