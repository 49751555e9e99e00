// The version of the API server, read only when a component must be compatible with it.
import https from 'node:https'
import type { Clock } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import type { Pair } from './join/identity.ts'

export interface ServerPlace {
  readonly server: string
  readonly ca: string
  readonly pair: () => Pair
  /** Variables of a proxy. */
  readonly proxy?: Readonly<Record<string, string>> | undefined
}

/** An upgrade of a control plane takes longer; until then the last answer is used. */
const FRESH_MS = 60_000
const TIMEOUT_MS = 5_000
const MAX_CHARS = 16_384

export class ServerVersion {
  readonly #read: () => Promise<string | undefined>
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #onChange: () => void
  #version: string | undefined
  #readAt = Number.NEGATIVE_INFINITY

  constructor(clock: Pick<Clock, 'monotonic'>, read: () => Promise<string | undefined>, onChange: () => void) {
    this.#clock = clock
    this.#read = read
    this.#onChange = onChange
  }

  /** The last answer; refreshes it in the background when it is old. */
  get value(): string | undefined {
    const now = this.#clock.monotonic()
    if (now - this.#readAt >= FRESH_MS) {
      this.#readAt = now
      void this.#read().then((version) => {
        if (version === this.#version) return
        this.#version = version
        this.#onChange()
      })
    }
    return this.#version
  }
}

/** Undefined when it cannot be read; never rejects. */
export const readServerVersion = ({ server, ca, pair, proxy }: ServerPlace): Promise<string | undefined> =>
  new Promise((resolve) => {
    const { key, certificate } = pair()
    const url = new URL('/version', server)
    const agent = proxy === undefined ? false : new https.Agent({ proxyEnv: proxy })
    const request = https.get(url, { ca, key, cert: certificate, agent, timeout: TIMEOUT_MS }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => {
        text += part
        if (text.length > MAX_CHARS) response.destroy()
      })
      response.on('close', () => resolve(response.statusCode === 200 ? versionIn(text) : undefined))
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(undefined))
  })

function versionIn(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) && typeof value['gitVersion'] === 'string' ? value['gitVersion'] : undefined
  } catch {
    return undefined
  }
}
