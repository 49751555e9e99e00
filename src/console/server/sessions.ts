// Signed-in users: one-time links, and sessions named by cookies. A session is a random number in memory and ends with the server.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '#lib/clock.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Person } from '../protocol.ts'
import { placeFor } from './fair-share.ts'

/** A working day. */
const SESSION_MS = 12 * 3_600_000
export const LINK_MS = 10 * 60_000
/** A session is a few kilobytes and a client. `fair-share.ts` decides which one ends at the limit. */
const MOST_SESSIONS = 1_000
/** A user's browsers and private windows of a day. */
const MOST_SESSIONS_OF_PERSON = 32
const MOST_LINKS = 16

export interface SignedIn {
  readonly person: Person
  /** Equal for equal rights: a user with groups, or a token. Changes when the user connects to another cluster. */
  readonly identity: string
  /** Sends requests as this user; undefined if that is not possible. */
  readonly clientOf: (cluster: string) => KubeClient | undefined
  /** When the user's credentials expire, in milliseconds since 1970. */
  readonly expiresAt?: number
  /** This cluster's API server no longer accepts the user. */
  readonly refusedBy?: (cluster: string) => void
  /** The user's credentials have expired. */
  readonly isOver?: () => boolean
  /** Drops the user's credentials. */
  readonly close?: () => void
}

interface Link {
  readonly who: SignedIn
  readonly until: number
}

interface Session extends Link {
  /** Digest of the second secret, which only this page has; other pages of the same host do not get it. */
  readonly page: string
}

export interface Opened {
  /** For a cookie. */
  readonly secret: string
  /** Only for the page. */
  readonly page: string
}

/** Only digests are stored: memory contents cannot open a session. */
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

  /** The secret of a link that opens one session, once and for a short time. */
  newLink(who: SignedIn): string {
    const secret = newSecret()
    this.#links.set(digest(secret), { who, until: this.#clock.monotonic() + LINK_MS })
    const [oldest] = this.#links.keys()
    if (this.#links.size > MOST_LINKS && oldest !== undefined) this.#links.delete(oldest)
    return secret
  }

  /** The link's user; undefined if the link was used, is too old, or never existed. */
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

  /** Whether this session's page sent the request, and not another one that got its cookie. */
  isPageOf(secret: string | undefined, page: string | undefined): boolean {
    const session = this.#sessions.get(digest(secret ?? ''))
    return session !== undefined && isSame(session.page, digest(page ?? ''))
  }

  close(secret: string | undefined): void {
    this.#end(digest(secret ?? ''))
  }

  /** Called when the server stops. */
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
