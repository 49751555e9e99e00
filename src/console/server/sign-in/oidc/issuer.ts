// An issuer's client: openid-client implements the protocol, this file bounds it. Responses have a size and a time limit, redirects are not followed, and only
// HTTPS is allowed.
import { request } from 'node:https'
import type { IncomingMessage } from 'node:http'
import type { ClientAuth, Configuration, CustomFetch, ServerMetadata } from 'openid-client'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { refuseUpgrade } from '#lib/refuse-upgrade.ts'
import { checkedLookup, forbiddenHostOf } from '#runtime/outbound/checked-lookup.ts'
import { ownPlaces } from '#runtime/outbound/own-addresses.ts'
import { SKEW_SECONDS } from './id-token.ts'

/** Loaded at the first sign-in: consoles without an issuer never need it. */
export const openid = () => import('openid-client')

const TIMEOUT_SECONDS = 10
/** Per response: large issuers' keys have about 10 KB. */
const MOST_BYTES = 128 * 1024
/** Endpoints change with the issuer's version, keys within a day. The package ages keys by wall clock, which can be set back. */
const KEPT_MS = 300_000
/** Public key signatures only; an issuer's other algorithms are not accepted. The package refuses RSA below 2048 bits. */
const ALGORITHMS = new Set([
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
])

export interface IssuerOptions {
  /** As in its tokens. */
  readonly url: string
  readonly clientId: string
  /** For a confidential client. Read each time, because a mounted Secret changes. */
  readonly clientSecret?: () => Promise<string>
  /** PEM; the system's CAs if left out. */
  readonly ca?: string
  readonly clock: Clock
}

export class IssuerTrouble extends Error {}

export class Issuer {
  readonly url: string
  readonly #options: IssuerOptions
  #kept: { readonly value: Promise<Configuration>; readonly at: number } | undefined

  constructor(options: IssuerOptions) {
    this.#options = options
    this.url = options.url
  }

  get host(): string {
    return new URL(this.url).host
  }

  get clientId(): string {
    return this.#options.clientId
  }

  /** With the issuer's endpoints and keys, at most five minutes old. */
  async configuration(): Promise<Configuration> {
    const now = this.#options.clock.monotonic()
    if (this.#kept === undefined || now - this.#kept.at >= KEPT_MS) this.#kept = { value: this.#discovered(), at: now }
    const { value } = this.#kept
    try {
      return await value
    } catch (e) {
      if (this.#kept.value === value) this.#kept = undefined
      throw e
    }
  }

  async #discovered(): Promise<Configuration> {
    const client = await openid()
    const { clientId, clock } = this.#options
    const at = new URL(`${this.url.replace(/\/$/, '')}/.well-known/openid-configuration`)
    try {
      const bound = { [client.customFetch]: this.#fetch, timeout: TIMEOUT_SECONDS }
      const found = await client.discovery(at, clientId, undefined, undefined, bound)
      const times = {
        [client.clockSkew]: Math.round((clock.now() - Date.now()) / 1_000),
        [client.clockTolerance]: SKEW_SECONDS,
      }
      const config = new client.Configuration(checked(found.serverMetadata(), this.url), clientId, times, this.#auth)
      config[client.customFetch] = this.#fetch
      config.timeout = TIMEOUT_SECONDS
      client.enableNonRepudiationChecks(config)
      return config
    } catch (e) {
      throw troubleIn(e) ?? new IssuerTrouble(`the issuer cannot be used: ${whyOf(e)}`)
    }
  }

  readonly #auth: ClientAuth = async (...asked) => {
    const { clientSecret } = this.#options
    const { ClientSecretPost, None } = await openid()
    if (clientSecret === undefined) return None()(...asked)
    // The reason contains a file path, and users who are not signed in would see it.
    const secret = await clientSecret().catch((cause: unknown) => {
      throw new IssuerTrouble('the secret of this client cannot be read', { cause })
    })
    if (secret === '') throw new IssuerTrouble('the secret of this client is empty')
    return ClientSecretPost(secret)(...asked)
  }

  readonly #fetch: CustomFetch = async (text, { method, headers, body, signal }) => {
    const url = new URL(text)
    const { ca } = this.#options
    // The operator vouches for the issuer's host; other hosts it names must not be this machine or its local network.
    const isTrusted = url.origin === new URL(this.url).origin
    const forbidden = isTrusted ? undefined : forbiddenHostOf(url, ownPlaces())
    if (forbidden !== undefined) throw new IssuerTrouble(`the issuer leads to ${forbidden}, which must not be called`)
    const form = body instanceof URLSearchParams ? body.toString() : undefined
    const { status, answer } = await new Promise<{ status: number; answer: string }>((resolve, reject) => {
      const sent = request(
        url,
        {
          method,
          agent: false,
          lookup: checkedLookup({ isTrusted, own: ownPlaces() }),
          ...defined({ ca, signal }),
          headers: {
            ...headers,
            'accept-encoding': 'identity',
            ...(form !== undefined && { 'content-length': Buffer.byteLength(form) }),
          },
        },
        (response) => {
          bounded(response).then((t) => resolve({ status: response.statusCode ?? 0, answer: t }), reject)
        },
      )
      refuseUpgrade(sent)
      sent.on('error', reject)
      sent.end(form)
    }).catch((e: unknown) => {
      throw new IssuerTrouble(`the issuer does not answer: ${messageOf(e)}`)
    })
    // A refusal's text may repeat the request.
    if (status !== 200) throw new IssuerTrouble(`the issuer answers ${status}`)
    return new Response(answer, { headers: { 'content-type': 'application/json' } })
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

/** Checked before redirecting a user or sending a code. An issuer with a different name could hand out another one's tokens. */
function checked(found: ServerMetadata, issuer: string): ServerMetadata {
  if (found.issuer !== issuer)
    throw new IssuerTrouble(`the issuer calls itself ${JSON.stringify(found.issuer).slice(0, 200)}`)
  const { end_session_endpoint: end, id_token_signing_alg_values_supported: offered } = found
  const needed = ['authorization_endpoint', 'token_endpoint', 'jwks_uri']
  for (const key of end === undefined ? needed : [...needed, 'end_session_endpoint']) {
    const url = URL.parse(String(found[key]))
    if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '')
      throw new IssuerTrouble(`the ${key} of the issuer is no https address`)
  }
  const algorithms = Array.isArray(offered) ? offered.filter((name) => ALGORITHMS.has(name)) : ['RS256']
  return { ...found, id_token_signing_alg_values_supported: algorithms }
}

/** Unwraps this file's own error from the package's. */
export function troubleIn(e: unknown): IssuerTrouble | undefined {
  const cause = e instanceof Error ? e.cause : undefined
  return [e, cause].find((one) => one instanceof IssuerTrouble)
}

/** Uses only the package's fixed messages; other errors may repeat what an issuer sent, or reveal details of this host. */
export function whyOf(e: unknown): string {
  const all = e instanceof Error ? [e.cause, e] : []
  const own = all.find((one) => one instanceof Error && 'code' in one && String(one.code).startsWith('OAUTH_'))
  return own instanceof Error ? own.message : 'it does not follow the protocol'
}
