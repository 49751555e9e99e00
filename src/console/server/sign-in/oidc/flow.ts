// A sign-in in progress, sealed in the cookie of the browser that started it, so that strangers who start thousands take no room from others. Each can be
// opened once.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Clock } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'

export interface Flow {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly back: string
  /** The part of the page that the user wanted to see. */
  readonly to: string
}

/** A user may have to find a second factor first. */
const FLOW_MS = 10 * 60_000
/** Remembered opened flows. A forgotten one has a code that the issuer already redeemed. */
const MOST_OPENED = 10_000
const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

export class SealedFlows {
  readonly #clock: Clock
  /** Ends with the process, and invalidates everything it sealed. */
  readonly #key = randomBytes(32)
  readonly #opened = new Set<string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  seal(flow: Flow): string {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, iv, { authTagLength: TAG_BYTES })
    const text = JSON.stringify({ ...flow, until: this.#clock.monotonic() + FLOW_MS })
    const sealed = [iv, cipher.update(text, 'utf8'), cipher.final()]
    return Buffer.concat([...sealed, cipher.getAuthTag()]).toString('base64url')
  }

  /** Undefined if it was opened before, is too old, or was sealed by another process. */
  open(sealed: string): Flow | undefined {
    const content = this.#contentOf(Buffer.from(sealed, 'base64url'))
    if (content === undefined) return undefined
    const { until, ...flow } = content
    if (this.#clock.monotonic() >= until || this.#opened.has(flow.state)) return undefined
    this.#opened.add(flow.state)
    const [oldest] = this.#opened
    if (this.#opened.size > MOST_OPENED && oldest !== undefined) this.#opened.delete(oldest)
    return flow
  }

  #contentOf(bytes: Buffer): (Flow & { readonly until: number }) | undefined {
    if (bytes.length < IV_BYTES + TAG_BYTES) return undefined
    const cipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
    cipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    try {
      const text = Buffer.concat([cipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), cipher.final()]).toString()
      const value: unknown = JSON.parse(text)
      // Only this process can have created it.
      return isObject(value) ? (value as unknown as Flow & { readonly until: number }) : undefined
    } catch {
      return undefined
    }
  }
}
