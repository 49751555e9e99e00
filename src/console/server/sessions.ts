// Who is signed in: one-time links and the sessions that cookies name. A session is a random number in memory; it ends with the server.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '#lib/clock.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Person } from '../protocol.ts'
import { placeFor } from './fair-share.ts'

/** A working day. */
const SESSION_MS = 12 * 3_600_000
export const LINK_MS = 10 * 60_000
/** A session is a few kilobytes and a client. Whose ends when there are more: `fair-share.ts`. */
const MOST_SESSIONS = 1_000
/** Browsers and private windows of a day. */
const MOST_SESSIONS_OF_PERSON = 32
const MOST_LINKS = 16

export interface SignedIn {
  readonly person: Person
  /** Equal for equal rights: a user with groups, or a token. It changes when the person gets a way to another cluster. */
  readonly identity: string
  /** Makes requests as this person; undefined where they cannot be made. */
  readonly clientOf: (cluster: string) => KubeClient | undefined
  /** When what the person signed in with ends, in milliseconds since 1970. */
  readonly expiresAt?: number
  /** The API server of this cluster no longer knows the person. */
  readonly refusedBy?: (cluster: string) => void
  /** What the person signed in with has ended. */
  readonly isOver?: () => boolean
  /** Forgets what the person signed in with. */
  readonly close?: () => void
}

interface Link {
  readonly who: SignedIn
  readonly until: number
}

interface Session extends Link {
  /** Digest of the second secret, which the page keeps and other pages of the same host do not get. */
  readonly page: string
}

export interface Opened {
  /** For a cookie. */
  readonly secret: string
  /** For the page alone. */
  readonly page: string
}

/** Only digests are kept: what is in memory opens no session. */
const digest = (secret: string): string => createHash('sha256').update(secret).digest('base64')
export const newSecret = (): string => randomBytes(32).toString('base64url')
const isSame = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(a), Buffer.from(b))

export class Sessions {
  readonly #clock: Clock
  readonly #sessions = new Map<string, Session>()
  readonly #links = new Map<string, Link>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The secret of a link that opens one session, once and soon. */
  newLink(who: SignedIn): string {
    const secret = newSecret()
    this.#links.set(digest(secret), { who, until: this.#clock.monotonic() + LINK_MS })
    const [oldest] = this.#links.keys()
    if (this.#links.size > MOST_LINKS && oldest !== undefined) this.#links.delete(oldest)
    return secret
  }

  /** The user of the link; undefined when it was used, is too old, or was never made. */
  useLink(secret: string): SignedIn | undefined {
    const key = digest(secret)
    const link = this.#links.get(key)
    this.#links.delete(key)
    return link !== undefined && this.#clock.monotonic() < link.until ? link.who : undefined
  }

  open(who: SignedIn): Opened {
    for (const [key, session] of this.#sessions) if (!this.#isGood(session)) this.#end(key)
    this.#makePlace(who.person.name)
    const opened = { secret: newSecret(), page: newSecret() }
    const left = who.expiresAt === undefined ? SESSION_MS : who.expiresAt - this.#clock.now()
    const until = this.#clock.monotonic() + Math.min(SESSION_MS, left)
    this.#sessions.set(digest(opened.secret), { who, until, page: digest(opened.page) })
    return opened
  }

  #makePlace(person: string): void {
    const taken = [...this.#sessions].map(([item, { who }]) => ({ item, person: who.person.name }))
    const place = placeFor(taken, person, { all: MOST_SESSIONS, ofPerson: MOST_SESSIONS_OF_PERSON })
    if (place.kind === 'Free') return
    const [oldest] = this.#sessions.keys()
    // A sign-in is never refused: the oldest session of all ends instead.
    const ends = place.kind === 'Refused' ? oldest : place.from
    if (ends !== undefined) this.#end(ends)
  }

  of(secret: string | undefined): SignedIn | undefined {
    const key = digest(secret ?? '')
    const session = this.#sessions.get(key)
    if (session === undefined) return undefined
    if (this.#isGood(session)) return session.who
    this.#end(key)
    return undefined
  }

  /** Whether the page of this session asks, and not another one that got its cookie. */
  isPageOf(secret: string | undefined, page: string | undefined): boolean {
    const session = this.#sessions.get(digest(secret ?? ''))
    return session !== undefined && isSame(session.page, digest(page ?? ''))
  }

  close(secret: string | undefined): void {
    this.#end(digest(secret ?? ''))
  }

  /** With the server. */
  closeAll(): void {
    for (const key of this.#sessions.keys()) this.#end(key)
  }

  #isGood({ who, until }: Session): boolean {
    return this.#clock.monotonic() < until && who.isOver?.() !== true
  }

  #end(key: string): void {
    this.#sessions.get(key)?.who.close?.()
    this.#sessions.delete(key)
  }
}
