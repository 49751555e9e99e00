// The paths under which the API server reaches the webhook. A plain API server sends no certificate, so the path is the secret: random, known to
// readers of the webhook configuration only, and replaced by a new one every day. A new path is accepted before the configuration names it, the one
// before for a bounded time afterwards, while API servers still learn of the change.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '#lib/clock.ts'

export type Door = 'kinds' | 'deletions' | 'certificates' | 'events'
const DOORS: Readonly<Record<Door, string>> = {
  kinds: 'admit',
  deletions: 'deletions',
  certificates: 'certificates',
  events: 'events',
}
const DOOR_NAMES = Object.keys(DOORS) as readonly Door[]

/** As long as a key, so that it cannot be guessed. */
const TOKEN_BYTES = 32
export const ROTATE_MS = 24 * 3_600_000
/** API servers watch webhook configurations; one that is cut off for longer than this fails its calls until it is back. */
export const OVERLAP_MS = 5 * 60_000

export const pathOf = (token: string, door: Door): string => `/${token}/${DOORS[door]}`

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

interface Accepted {
  readonly token: string
  /** By the stopwatch; undefined while the configuration names it, or is about to. */
  readonly until: number | undefined
}

export class SecretPaths {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #newToken: () => string
  #accepted: readonly Accepted[] = []
  #named: { readonly token: string; readonly since: number } | undefined
  #proposed: string | undefined

  constructor(
    clock: Pick<Clock, 'monotonic'>,
    newToken = (): string => randomBytes(TOKEN_BYTES).toString('base64url'),
  ) {
    this.#clock = clock
    this.#newToken = newToken
  }

  get isRotationDue(): boolean {
    return this.#named === undefined || this.#clock.monotonic() - this.#named.since >= ROTATE_MS
  }

  /** For the configuration that is written next. Accepted from now on, and the same until it was written: a lost answer may hide a write that was done. */
  propose(): string {
    if (this.#named !== undefined && !this.isRotationDue) return this.#named.token
    if (this.#proposed === undefined) {
      this.#proposed = this.#newToken()
      this.#accepted = [...this.#accepted, { token: this.#proposed, until: undefined }]
    }
    return this.#proposed
  }

  /** The configuration names it. */
  adopt(token: string): void {
    if (this.#named?.token === token) return
    const now = this.#clock.monotonic()
    this.#named = { token, since: now }
    this.#proposed = undefined
    this.#accepted = this.#live(now).map((a) => (a.token === token ? a : { ...a, until: a.until ?? now + OVERLAP_MS }))
  }

  /** Compares with every path there is, in constant time: how long it takes tells nothing. */
  doorOf(path: string): Door | undefined {
    const asked = digest(path)
    let found: Door | undefined
    for (const { token } of this.#live(this.#clock.monotonic()))
      for (const door of DOOR_NAMES) if (timingSafeEqual(asked, digest(pathOf(token, door)))) found = door
    return found
  }

  #live(now: number): readonly Accepted[] {
    return this.#accepted.filter(({ until }) => until === undefined || now < until)
  }
}
