// Signs people in at an issuer by OpenID Connect: a code for this browser alone (state in a cookie, nonce, PKCE), changed for an ID token, which the API servers check.
import { timingSafeEqual } from 'node:crypto'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { textIn } from '#lib/fields.ts'
import { sha256 } from '#lib/sha256.ts'
import { Refused } from '../../request.ts'
import { newSecret } from '../../sessions.ts'
import { type ConnectAs, type OwnClient, OwnClients } from '../own-clients.ts'
import { whose } from '../token.ts'
import { SealedFlows } from './flow.ts'
import { isKeyMissing, type IdToken, judgeIdToken } from './id-token.ts'
import { type Issuer, IssuerTrouble } from './issuer.ts'

/** Before its end a token is replaced: a request that has begun must not end with a refusal. */
const RENEW_BEFORE_MS = 60_000

export interface OidcOptions {
  readonly issuer: Issuer
  readonly clientId: string
  /** Of a client that is not public. Read again each time: a mounted Secret changes. */
  readonly clientSecret?: () => Promise<string>
  readonly scopes: readonly string[]
  /** Clusters whose API servers trust the issuer; the first one says who the person is. */
  readonly clusters: readonly [string, ...(readonly string[])]
  readonly connect: ConnectAs
  readonly clock: Clock
  readonly log: Logger
}

export interface Begun {
  /** For a cookie of this browser. */
  readonly secret: string
  readonly location: string
}

const isSame = (a: string, b: string): boolean => timingSafeEqual(sha256(a), sha256(b))

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

  /** `origin`: of the page, as this browser reaches it. */
  async begin(origin: string, to: string): Promise<Begun> {
    const { issuer, clientId, scopes } = this.#options
    const { authorization } = await this.#places()
    const [state, nonce, verifier] = [newSecret(), newSecret(), newSecret()]
    const back = `${origin}/oidc/back`
    const secret = this.#flows.seal({ state, nonce, verifier, back, to })
    const url = new URL(authorization)
    const asked = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: back,
      scope: scopes.join(' '),
      state,
      nonce,
      code_challenge: sha256(verifier).toString('base64url'),
      code_challenge_method: 'S256',
    }
    for (const [key, value] of Object.entries(asked)) url.searchParams.set(key, value)
    this.#options.log.debug('a person signs in', { issuer: issuer.host })
    return { secret, location: url.href }
  }

  /** Each flow is used once, whatever comes of it: a code that is sent again finds nothing. */
  async end(secret: string | undefined, answer: URLSearchParams) {
    const { issuer, clientId } = this.#options
    const flow = this.#flows.open(secret ?? '')
    if (flow === undefined)
      throw new Refused(
        410,
        'FlowUsed',
        'this sign-in was used, is too old, or began in another browser; sign in again',
      )
    if (!isSame(answer.get('state') ?? '', flow.state))
      throw new Refused(403, 'WrongState', 'this answer belongs to another sign-in; sign in again')
    const iss = answer.get('iss')
    if (iss !== null && iss !== issuer.url)
      throw new Refused(403, 'WrongIssuer', 'this answer comes from another issuer; sign in again')
    const code = answer.get('code')
    if (code === null) throw new Refused(403, 'NotSignedIn', 'the issuer did not sign you in; try again')
    const given = await this.#tokens({
      grant_type: 'authorization_code',
      code,
      redirect_uri: flow.back,
      client_id: clientId,
      code_verifier: flow.verifier,
    })
    const token = await this.#judged(given['id_token'], { nonce: flow.nonce })
    const who = await this.#person(new Held({ ...token, refresh: textIn(given['refresh_token']) }))
    return { who, to: flow.to }
  }

  /** Where the browser is signed out of the issuer too. */
  async endPlace(origin: string): Promise<string | undefined> {
    const { end } = await this.#options.issuer.places().catch(() => ({ end: undefined }))
    if (end === undefined) return undefined
    const url = new URL(end)
    url.searchParams.set('client_id', this.#options.clientId)
    url.searchParams.set('post_logout_redirect_uri', `${origin}/`)
    return url.href
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
      const person = await whose(client, home)
      // Without a way to replace the token, the session ends with it.
      const expiresAt = held.refresh === undefined ? held.expiresAt : undefined
      const isOver = (): boolean => held.isOver
      return new OwnClients({ person: { ...person, how: 'Oidc' }, home, clients, expiresAt, isOver })
    } catch (e) {
      for (const client of clients.values()) client.close()
      throw e
    }
  }

  async #next(held: Held, isRefused: boolean): Promise<{ token: string; goodForMs: number }> {
    const { clock, log } = this.#options
    const leftMs = (): number => held.expiresAt - clock.now() - RENEW_BEFORE_MS
    if (leftMs() > 0 && !isRefused) return { token: held.text, goodForMs: leftMs() }
    held.renewing ??= this.#renew(held).finally(() => (held.renewing = undefined))
    try {
      await held.renewing
    } catch (e) {
      log.debug('cannot replace a token', { error: messageOf(e) })
      if (held.expiresAt <= clock.now() || isRefused) held.isOver = true
      else return { token: held.text, goodForMs: Math.min(RENEW_BEFORE_MS, held.expiresAt - clock.now()) }
      throw e
    }
    return { token: held.text, goodForMs: Math.max(1, leftMs()) }
  }

  async #renew(held: Held): Promise<void> {
    const { clientId } = this.#options
    if (held.refresh === undefined) throw new IssuerTrouble('the issuer gave no way to replace the token')
    const given = await this.#options.issuer.tokens(
      await this.#withSecret({ grant_type: 'refresh_token', refresh_token: held.refresh, client_id: clientId }),
    )
    const token = await this.#judged(given['id_token'], { subject: held.subject })
    held.replace(token, textIn(given['refresh_token']))
  }

  async #judged(
    text: unknown,
    { nonce, subject }: { readonly nonce?: string; readonly subject?: string },
  ): Promise<IdToken & { readonly text: string }> {
    const { issuer, clientId, clock, log } = this.#options
    if (typeof text !== 'string') throw new Refused(502, 'Issuer', 'the issuer gave no ID token')
    const keys = await issuer.keys((known) => isKeyMissing(text, known)).catch(unreachable)
    const judged = judgeIdToken(text, keys, {
      issuer: issuer.url,
      clientId,
      nonce,
      ...defined({ subject }),
      now: clock.now(),
    })
    if (judged.kind === 'Good') return { ...judged.token, text }
    log.warn('the token of an issuer is refused', { issuer: issuer.host, why: judged.why })
    throw new Refused(403, 'BadIdToken', `the token of the issuer is refused: ${judged.why}`)
  }

  #places = () => this.#options.issuer.places().catch(unreachable)

  #tokens = async (form: Readonly<Record<string, string>>) =>
    this.#options.issuer.tokens(await this.#withSecret(form)).catch(unreachable)

  async #withSecret(form: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>> {
    const { clientSecret } = this.#options
    return clientSecret === undefined ? form : { ...form, client_secret: await clientSecret() }
  }
}

function unreachable(e: unknown): never {
  if (!(e instanceof IssuerTrouble)) throw e
  throw new Refused(502, 'Issuer', `cannot sign in: ${e.message}`)
}

/** The tokens of one session. */
class Held {
  text: string
  subject: string
  expiresAt: number
  refresh: string | undefined
  renewing: Promise<void> | undefined
  isOver = false

  constructor({ text, subject, expiresAt, refresh }: IdToken & { text: string; refresh: string | undefined }) {
    this.text = text
    this.subject = subject
    this.expiresAt = expiresAt
    this.refresh = refresh
  }

  replace({ text, expiresAt }: IdToken & { readonly text: string }, refresh: string | undefined): void {
    this.text = text
    this.expiresAt = expiresAt
    this.refresh = refresh ?? this.refresh
  }
}
