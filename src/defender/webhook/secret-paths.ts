// The paths under which the API server reaches the webhook. A plain API server sends no certificate, so the path is the secret: random, known only to
// readers of the webhook configuration, and replaced every day. All replicas accept a new path before the configuration names it. They accept the
// previous one for a limited time afterwards, while API servers still learn of the change.
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { defined } from '#lib/defined.ts'
import { sha256 } from '#lib/sha256.ts'

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
/** All replicas read the Secret far more often. A replica that cannot read it for half of this time is not ready. */
export const SPREAD_MS = 10 * 60_000
/** API servers watch webhook configurations. One that is disconnected for longer than this fails its calls until it is back. */
export const OVERLAP_MS = 10 * 60_000

/** Lowercase: an API server refuses a Service webhook whose path has anything but DNS names between its slashes. */
export const newToken = (): string => randomBytes(TOKEN_BYTES).toString('hex')

export const pathOf = (token: string, door: Door): string => `/${token}/${DOORS[door]}`

export interface PathState {
  readonly token: string
  /** Milliseconds since 1970. */
  readonly since: number
  /** Accepted by all replicas before the configuration names it. */
  readonly next?: string
  /** Accepted while an API server may still use the previous configuration. */
  readonly previous?: string
}

export interface PathsSeen {
  readonly now: number
  readonly newToken: () => string
  /** This process wrote the configuration with it. */
  readonly named: string | undefined
  /** How long this process has known it. */
  readonly knownMs: (token: string) => number
}

/** The state to write. The same object if there is nothing to do. One step at a time. */
export function rotatedPaths(state: PathState | undefined, seen: PathsSeen): PathState {
  const { now } = seen
  if (state === undefined) return { token: seen.newToken(), since: now }
  const { token, since, next, previous } = state
  if (next !== undefined && seen.named === next) return { token: next, since: now, previous: token }
  if (previous !== undefined && seen.knownMs(previous) >= OVERLAP_MS) {
    const { previous: _gone, ...rest } = state
    return rest
  }
  // A clock that was set back must not keep a path forever.
  const isDue = Math.abs(now - since) >= ROTATE_MS
  if (next === undefined && previous === undefined && isDue) return { ...state, next: seen.newToken() }
  return state
}

/** The path that the configuration should name: the next one as soon as every replica accepts it. */
export const tokenToName = ({ token, next }: PathState, knownMs: PathsSeen['knownMs']): string =>
  next !== undefined && knownMs(next) >= SPREAD_MS ? next : token

export const acceptedTokens = ({ token, next, previous }: PathState): readonly string[] =>
  [token, next, previous].filter((t) => t !== undefined)

export const pathData = ({ token, since, next, previous }: PathState): Readonly<Record<string, string>> => ({
  path: token,
  'path-since': new Date(since).toISOString(),
  ...defined({ 'next-path': next, 'previous-path': previous }),
})

export function pathsIn(data: Readonly<Record<string, string>>): PathState | undefined {
  const { path: token, 'path-since': since = '', 'next-path': next, 'previous-path': previous } = data
  const at = Date.parse(since)
  if (token === undefined || Number.isNaN(at)) return undefined
  return { token, since: at, ...defined({ next, previous }) }
}

/** The paths that a server accepts now. */
export class SecretPaths {
  #tokens: readonly string[]

  constructor(tokens: readonly string[] = []) {
    this.#tokens = tokens
  }

  accept(tokens: readonly string[]): void {
    this.#tokens = tokens
  }

  /** Compares with every path in constant time, so that the timing reveals nothing. */
  doorOf(path: string): Door | undefined {
    const asked = sha256(path)
    let found: Door | undefined
    for (const token of this.#tokens)
      for (const door of DOOR_NAMES) if (timingSafeEqual(asked, sha256(pathOf(token, door)))) found = door
    return found
  }
}
