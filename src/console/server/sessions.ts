// Who is signed in: one-time links and the sessions that cookies name. A session is a random number in memory; it ends with the server.
import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '#lib/clock.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Person } from '../protocol.ts'

/** A working day. */
const SESSION_MS = 12 * 3_600_000
const LINK_MS = 10 * 60_000
/** Beyond this the oldest has to sign in again. */
const MOST_SESSIONS = 1_000
const MOST_LINKS = 16

export interface SignedIn {
  readonly person: Person
  /** Equal for equal rights: a user with groups, or a token. */
  readonly identity: string
  /** Makes requests as this person; undefined where they cannot be made. */
  readonly clientOf: (cluster: string) => KubeClient | undefined
  /** When what the person signed in with ends, in milliseconds since 1970. */
  readonly expiresAt?: number
}

interface Session {
  readonly who: SignedIn
  readonly until: number
}

/** Only digests are kept: what is in memory opens no session. */
const digest = (secret: string): string => createHash('sha256').update(secret).digest('base64')
const newSecret = (): string => randomBytes(32).toString('base64url')

export class Sessions {
  readonly #clock: Clock
  readonly #sessions = new Map<string, Session>()
  readonly #links = new Map<string, Session>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The secret of a link that opens one session, once and soon. */
  newLink(who: SignedIn): string {
    const secret = newSecret()
    this.#links.set(digest(secret), { who, until: this.#clock.monotonic() + LINK_MS })
    dropOldest(this.#links, MOST_LINKS)
    return secret
  }

  /** The user of the link; undefined when it was used, is too old, or was never made. */
  useLink(secret: string): SignedIn | undefined {
    const key = digest(secret)
    const link = this.#links.get(key)
    this.#links.delete(key)
    return link !== undefined && this.#clock.monotonic() < link.until ? link.who : undefined
  }

  /** The secret for a cookie. */
  open(who: SignedIn): string {
    const secret = newSecret()
    const left = who.expiresAt === undefined ? SESSION_MS : who.expiresAt - this.#clock.now()
    this.#sessions.set(digest(secret), { who, until: this.#clock.monotonic() + Math.min(SESSION_MS, left) })
    dropOldest(this.#sessions, MOST_SESSIONS)
    return secret
  }

  of(secret: string | undefined): SignedIn | undefined {
    if (secret === undefined) return undefined
    const key = digest(secret)
    const session = this.#sessions.get(key)
    if (session === undefined) return undefined
    if (this.#clock.monotonic() < session.until) return session.who
    this.#sessions.delete(key)
    return undefined
  }

  close(secret: string | undefined): void {
    if (secret !== undefined) this.#sessions.delete(digest(secret))
  }
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  const [oldest] = map.keys()
  if (map.size > most && oldest !== undefined) map.delete(oldest)
}
