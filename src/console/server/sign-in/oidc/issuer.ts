// What is asked of an issuer: where its parts are, its keys, and tokens for a code. Answers are bounded, nothing is followed, and only HTTPS is spoken.
import { request } from 'node:https'
import { defined } from '#lib/defined.ts'
import { refuseUpgrade } from '#lib/refuse-upgrade.ts'
import type { IncomingMessage } from 'node:http'
import { isObject } from '#lib/json.ts'
import { messageOf } from '#lib/errors.ts'
import type { Clock } from '#lib/clock.ts'
import { checkedLookup, forbiddenHostOf } from '#runtime/outbound/checked-lookup.ts'
import { ownPlaces } from '#runtime/outbound/own-addresses.ts'
import { type IssuerKey, keysIn } from './id-token.ts'

const TIMEOUT_MS = 10_000
/** Of one answer: keys of large issuers are some 10 KB. */
const MOST_BYTES = 128 * 1024
/** Where its parts are changes with its versions; keys change within a day. */
const KEPT_MS = 3_600_000
/** A stranger can name unknown keys; each could cause a question. */
const KEYS_AGAIN_MS = 60_000

export interface IssuerOptions {
  /** As its tokens name it. */
  readonly url: string
  /** PEM; those of the system without it. */
  readonly ca?: string
  readonly clock: Clock
}

export interface Places {
  readonly authorization: string
  readonly token: string
  readonly keys: string
  readonly end?: string
}

export class IssuerTrouble extends Error {}

interface Kept<T> {
  readonly value: T
  readonly at: number
}

export class Issuer {
  readonly url: string
  readonly #options: IssuerOptions
  #places: Kept<Places> | undefined
  #keys: Kept<readonly IssuerKey[]> | undefined

  constructor(options: IssuerOptions) {
    this.#options = options
    this.url = options.url
  }

  get host(): string {
    return new URL(this.url).host
  }

  async places(): Promise<Places> {
    const { clock } = this.#options
    if (this.#places !== undefined && clock.monotonic() - this.#places.at < KEPT_MS) return this.#places.value
    const answer = await this.#ask(`${this.url.replace(/\/$/, '')}/.well-known/openid-configuration`)
    const value = placesIn(answer, this.url)
    this.#places = { value, at: clock.monotonic() }
    return value
  }

  /** `isMissing`: whether newer keys could help. */
  async keys(isMissing: (keys: readonly IssuerKey[]) => boolean): Promise<readonly IssuerKey[]> {
    const { clock } = this.#options
    const age = this.#keys === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - this.#keys.at
    const keptMs = this.#keys !== undefined && isMissing(this.#keys.value) ? KEYS_AGAIN_MS : KEPT_MS
    if (this.#keys !== undefined && age < keptMs) return this.#keys.value
    const value = keysIn(await this.#ask((await this.places()).keys))
    this.#keys = { value, at: clock.monotonic() }
    return value
  }

  async tokens(form: Readonly<Record<string, string>>): Promise<Readonly<Record<string, unknown>>> {
    return this.#ask((await this.places()).token, form)
  }

  async #ask(text: string, form?: Readonly<Record<string, string>>): Promise<Readonly<Record<string, unknown>>> {
    const url = new URL(text)
    const { ca } = this.#options
    // The operator vouches for the host of the issuer; other hosts that it names must not be this machine or its link.
    const isTrusted = url.origin === new URL(this.url).origin
    const forbidden = isTrusted ? undefined : forbiddenHostOf(url, ownPlaces())
    if (forbidden !== undefined) throw new IssuerTrouble(`the issuer leads to ${forbidden}, which must not be called`)
    const body = form === undefined ? undefined : new URLSearchParams(form).toString()
    const { status, text: answer } = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const sent = request(
        url,
        {
          method: body === undefined ? 'GET' : 'POST',
          agent: false,
          lookup: checkedLookup({ isTrusted, own: ownPlaces() }),
          signal: AbortSignal.timeout(TIMEOUT_MS),
          ...defined({ ca }),
          headers: {
            accept: 'application/json',
            'accept-encoding': 'identity',
            ...(body !== undefined && {
              'content-type': 'application/x-www-form-urlencoded',
              'content-length': Buffer.byteLength(body),
            }),
          },
        },
        (response) => {
          bounded(response).then((t) => resolve({ status: response.statusCode ?? 0, text: t }), reject)
        },
      )
      refuseUpgrade(sent)
      sent.on('error', reject)
      sent.end(body)
    }).catch((e: unknown) => {
      throw new IssuerTrouble(`the issuer does not answer: ${messageOf(e)}`)
    })
    // The text of a refusal may repeat what was sent.
    if (status !== 200) throw new IssuerTrouble(`the issuer answers ${status}`)
    const value = parsed(answer)
    if (!isObject(value)) throw new IssuerTrouble('the issuer does not answer with JSON')
    return value
  }
}

async function bounded(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MOST_BYTES) {
      response.destroy()
      throw new Error(`the answer is larger than ${MOST_BYTES} bytes`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An issuer that calls itself something else could hand out the tokens of another one. */
function placesIn(answer: Readonly<Record<string, unknown>>, issuer: string): Places {
  if (answer['issuer'] !== issuer)
    throw new IssuerTrouble(`the issuer calls itself ${JSON.stringify(answer['issuer']).slice(0, 200)}`)
  const place = (key: string): string => {
    const url = typeof answer[key] === 'string' ? URL.parse(answer[key]) : null
    if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '')
      throw new IssuerTrouble(`the ${key} of the issuer is no https address`)
    return url.href
  }
  return {
    authorization: place('authorization_endpoint'),
    token: place('token_endpoint'),
    keys: place('jwks_uri'),
    ...(answer['end_session_endpoint'] !== undefined && { end: place('end_session_endpoint') }),
  }
}
