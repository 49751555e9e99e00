// The keys that sign calls: fetched once for all waiting calls, renewed at four fifths of their life, and never shown in text.
import { readFile } from 'node:fs/promises'
import type { Clock } from '#lib/clock.ts'
import { isDeeperJson, isObject } from '#lib/json.ts'

export interface Keys {
  readonly id: string
  readonly secret: string
  /** Only for temporary keys. */
  readonly session?: string
  /** Milliseconds since 1970. */
  readonly expiresAt?: number
}

/** Throws with a reason that contains no secret. */
export type KeySource = (signal: AbortSignal) => Promise<Keys>

const RENEW_AT = 0.8
/** Permanent keys, such as those in a file, are reread at this interval, since an operator may replace them. */
const READ_AGAIN_MS = 5 * 60_000
/** Key files are smaller. */
const MAX_KEY_BYTES = 64 * 1024

interface Held {
  readonly keys: Keys
  readonly renewAt: number
}

export class Credentials {
  readonly #source: KeySource
  readonly #clock: Pick<Clock, 'now'>
  #held: Held | undefined
  #fetching: Promise<Keys> | undefined

  constructor(source: KeySource, clock: Pick<Clock, 'now'>) {
    this.#source = source
    this.#clock = clock
  }

  async current(signal: AbortSignal): Promise<Keys> {
    const now = this.#clock.now()
    const held = this.#held
    if (held !== undefined && now < held.renewAt) return held.keys
    try {
      return await (this.#fetching ??= this.#fetch(signal).finally(() => (this.#fetching = undefined)))
    } catch (e) {
      // The current keys are valid until they expire; the next call tries to renew them again.
      if (held !== undefined && now < (held.keys.expiresAt ?? now)) return held.keys
      throw e
    }
  }

  /** The vendor no longer accepts these keys. */
  drop(keys: Keys): void {
    if (this.#held?.keys === keys) this.#held = undefined
  }

  async #fetch(signal: AbortSignal): Promise<Keys> {
    const asked = this.#clock.now()
    const keys = await this.#source(signal)
    const life = keys.expiresAt === undefined ? READ_AGAIN_MS / RENEW_AT : keys.expiresAt - asked
    this.#held = { keys, renewAt: asked + life * RENEW_AT }
    return keys
  }
}

/** A JSON file with `id`, `secret` and, for temporary keys, `session`. */
export const keysInFile =
  (file: string): KeySource =>
  async () => {
    const bytes = await readFile(file)
    if (bytes.length > MAX_KEY_BYTES) throw new Error(`${file} is no key file: it has ${bytes.length} bytes`)
    const value = parsed(bytes.toString('utf8'))
    const { id, secret, session } = isObject(value) ? value : {}
    if (typeof id !== 'string' || typeof secret !== 'string' || id === '' || secret === '')
      throw new Error(`${file} is no key file: it must be JSON with id and secret`)
    return { id, secret, ...(typeof session === 'string' && { session }) }
  }

export const tokenInFile = async (file: string): Promise<string> => {
  const bytes = await readFile(file)
  if (bytes.length > MAX_KEY_BYTES) throw new Error(`${file} is no token: it has ${bytes.length} bytes`)
  return bytes.toString('utf8').trim()
}

/** The parser's own message would quote the text. Deeply nested text is not parsed: an object per level would fill the memory. */
export function parsed(text: string): unknown {
  if (isDeeperJson(Buffer.from(text))) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A vendor's message with everything redacted that could be a key. */
export function withoutKeys(text: string, { id, secret, session }: Keys): string {
  const parts = [secret, session, id].filter((part): part is string => part !== undefined && part !== '')
  return parts.reduce((left, part) => left.replaceAll(part, '[secret]'), text)
}
