// Signs users in at an OpenID Connect issuer: exchanges a code bound to this browser (state in a cookie, nonce, PKCE) for an ID token, which API servers
// verify.
import type { TokenEndpointResponse, TokenEndpointResponseHelpers } from 'openid-client'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { sha256 } from '#lib/sha256.ts'
import { Refused } from '../../request.ts'
import { newSecret } from '../../sessions.ts'
import { type ConnectAs, type OwnClient, OwnClients } from '../own-clients.ts'
import { ownerOf } from '../token.ts'
import { SealedFlows } from './flow.ts'
import { problemOf } from './id-token.ts'
import { type Issuer, IssuerTrouble, openid, troubleIn, whyOf } from './issuer.ts'

/** Replace a token this long before it expires, so that a running request is not refused. */
const RENEW_BEFORE_MS = 60_000

export interface OidcOptions {
  readonly issuer: Issuer
  readonly scopes: readonly string[]
  /** Clusters whose API servers trust the issuer; the first one identifies the user. */
  readonly clusters: readonly [string, ...(readonly string[])]
  readonly connect: ConnectAs
  readonly clock: Clock
  readonly log: Logger
}

export interface Begun {
  /** For this browser's cookie. */
  readonly secret: string
  readonly location: string
}

/** The issuer's response, with a validated ID token. */
interface Given {
  readonly text: string
  readonly subject: string
  readonly expiresAt: number
  readonly refresh?: string
}

type Granted = TokenEndpointResponse & TokenEndpointResponseHelpers

export class OidcSignIn {
  readonly #options: OidcOptions
  readonly #flows: SealedFlows

  constructor(options: OidcOptions) {
    this.#options = options
    this.#flows = new SealedFlows(options.clock)
  }

  get issuerHost(): string {
    return this.#options.issuer.host
  }

  /** `place`: the page's address without the last slash, as this browser reaches it. */
  async begin(place: string, to: string): Promise<Begun> {
    const { issuer, scopes, log } = this.#options
    const config = await issuer.configuration().catch(unreachable)
    const { buildAuthorizationUrl } = await openid()
    const [state, nonce, verifier] = [newSecret(), newSecret(), newSecret()]
    const back = `${place}/oidc/back`
    const url = buildAuthorizationUrl(config, {
      redirect_uri: back,
      scope: scopes.join(' '),
      state,
      nonce,
      code_challenge: sha256(verifier).toString('base64url'),
      code_challenge_method: 'S256',
    })
    log.debug('a person signs in', { issuer: issuer.host })
    return { secret: this.#flows.seal({ state, nonce, verifier, back, to }), location: url.href }
  }

  /** Each flow works once, whatever the result: a code sent again is refused. */
  async end(secret: string | undefined, answer: URLSearchParams) {
    const flow = this.#flows.open(secret ?? '')
    if (flow === undefined)
      throw new Refused(
        410,
        'FlowUsed',
        'this sign-in was used, is too old, or began in another browser; sign in again',
      )
    const { state, nonce, verifier, back, to } = flow
    const config = await this.#options.issuer.configuration().catch(unreachable)
    const { authorizationCodeGrant } = await openid()
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
    const grant = authorizationCodeGrant(config, new URL(`${back}?${answer.toString()}`), checks)
    return { who: await this.#person(new Held(await this.#judged(grant))), to }
  }

  /** Where the browser also signs out of the issuer. */
  async endPlace(place: string): Promise<string | undefined> {
    const config = await this.#options.issuer.configuration().catch(() => undefined)
    if (config?.serverMetadata().end_session_endpoint === undefined) return undefined
    const { buildEndSessionUrl } = await openid()
    return buildEndSessionUrl(config, { post_logout_redirect_uri: `${place}/` }).href
  }

  async #person(held: Held): Promise<OwnClients> {
    const { clusters, connect } = this.#options
    const next = (isRefused: boolean) => this.#next(held, isRefused)
    const clients = new Map<string, OwnClient>()
    for (const cluster of clusters) {
      const client = connect(cluster, { kind: 'Tokens', next })
      if (client !== undefined) clients.set(cluster, client)
    }
    const [home] = clusters
    try {
      const client = clients.get(home)
      if (client === undefined) throw new Refused(404, 'NotFound', `there is no cluster ${home}`)
      const person = await ownerOf(client, home)
      // Without a refresh token, the session ends with the ID token.
      const expiresAt = held.given.refresh === undefined ? held.given.expiresAt : undefined
      const isOver = (): boolean => held.isOver
      return new OwnClients({ person: { ...person, how: 'Oidc' }, home, clients, expiresAt, isOver })
    } catch (e) {
      for (const client of clients.values()) client.close()
      throw e
    }
  }

  async #next(held: Held, isRefused: boolean): Promise<{ token: string; goodForMs: number }> {
    const { clock, log } = this.#options
    const leftMs = (): number => held.given.expiresAt - clock.now()
    if (leftMs() > RENEW_BEFORE_MS && !isRefused)
      return { token: held.given.text, goodForMs: leftMs() - RENEW_BEFORE_MS }
    held.renewing ??= this.#renew(held).finally(() => (held.renewing = undefined))
    try {
      await held.renewing
    } catch (e) {
      log.debug('cannot replace a token', { error: messageOf(e) })
      if (leftMs() <= 0 || isRefused) held.isOver = true
      else return { token: held.given.text, goodForMs: Math.min(RENEW_BEFORE_MS, leftMs()) }
      throw e
    }
    return { token: held.given.text, goodForMs: Math.max(1, leftMs() - RENEW_BEFORE_MS) }
  }

  async #renew(held: Held): Promise<void> {
    const { refresh, subject } = held.given
    if (refresh === undefined) throw new IssuerTrouble('the issuer gave no way to replace the token')
    const config = await this.#options.issuer.configuration()
    const { refreshTokenGrant } = await openid()
    held.given = { ...defined({ refresh }), ...(await this.#judged(refreshTokenGrant(config, refresh), subject)) }
  }

  async #judged(grant: Promise<Granted>, subject?: string): Promise<Given> {
    const { issuer, clock, log } = this.#options
    const refused = (why: string): Refused => {
      log.warn('the answer of an issuer is refused', { issuer: issuer.host, why })
      return new Refused(403, 'BadIdToken', `the answer of the issuer is refused: ${why}; sign in again`)
    }
    const given = await grant.catch((e: unknown) => {
      const cause = troubleIn(e)?.cause
      if (cause !== undefined) log.warn('cannot read the secret of the client', { error: messageOf(cause) })
      throw outside(e) ?? refused(whyOf(e))
    })
    const [text, claims] = [given.id_token, given.claims()]
    if (text === undefined || claims === undefined) throw refused('it has no ID token')
    const problem = problemOf(text, claims, { clientId: issuer.clientId, ...defined({ subject }), now: clock.now() })
    if (problem !== undefined) throw refused(problem)
    const refresh = given.refresh_token
    return { text, subject: claims.sub, expiresAt: claims.exp * 1_000, ...defined({ refresh }) }
  }
}

const unreachable = (e: unknown): never => {
  throw outside(e) ?? e
}

/** Problems outside the response: the issuer is unavailable, or the user canceled there. */
function outside(e: unknown): Refused | undefined {
  const trouble = troubleIn(e)
  if (trouble !== undefined) return new Refused(502, 'Issuer', `cannot sign in: ${trouble.message}`)
  return isObject(e) && e['code'] === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR'
    ? new Refused(403, 'NotSignedIn', 'the issuer did not sign you in; try again')
    : undefined
}

/** The tokens of one session. */
class Held {
  given: Given
  renewing: Promise<void> | undefined
  isOver = false

  constructor(given: Given) {
    this.given = given
  }
}
