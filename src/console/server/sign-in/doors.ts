// Sign-in and sign-out: one-time links, tokens, OpenID Connect, and a proxy. Nothing is read before one of them has identified the user.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SignedOut, SignInWays } from '../../protocol.ts'
import { cookieOf, one, readBody, Refused, sendJson } from '../request.ts'
import type { Opened, Sessions, SignedIn } from '../sessions.ts'
import type { OidcSignIn } from './oidc/code-flow.ts'
import { OwnClients } from './own-clients.ts'
import type { ProxyPeople } from './proxy.ts'
import type { TokenSignIn } from './token.ts'
import { defined } from '#lib/defined.ts'

export interface DoorsOptions {
  readonly sessions: Sessions
  readonly token?: TokenSignIn | undefined
  readonly oidc?: OidcSignIn | undefined
  readonly proxy?: ProxyPeople | undefined
  readonly isTls: boolean
  /** The path of the page below its host; empty at the root. */
  readonly base: string
  /** Only names such as `kn-….localhost` have cookies for this server alone. */
  readonly ownHost?: string | undefined
  /** The server's port, once it listens. */
  readonly port: () => number
  /** Called after a one-time link was used, so that the next one can be made. */
  readonly onLinkUsed?: (() => void) | undefined
}

interface Asking {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly url: URL
}

const PAGE_HEADER = 'x-kubenode-page'
/** Room for names of views, clusters and objects. */
const MOST_PLACE = 2_048
const FLOW_SECONDS = 600

export class Doors {
  readonly #options: DoorsOptions

  constructor(options: DoorsOptions) {
    this.#options = options
  }

  /** The user of a request. Throws if not signed in. */
  of(request: IncomingMessage): SignedIn {
    const { sessions, proxy } = this.#options
    if (proxy !== undefined) return proxy.of(request)
    const secret = this.#secretOf(request)
    const who = sessions.of(secret)
    if (who === undefined) throw new Refused(401, 'SignedOut', this.#how())
    if (this.#isShared(request) && !sessions.isPageOf(secret, one(request.headers[PAGE_HEADER])))
      throw new Refused(401, 'NotPage', 'another page asks with the cookie of this one; open a new link')
    return who
  }

  /** Only a new request shows the current user: a proxy may have signed the user out, or list fewer groups. */
  get isProxied(): boolean {
    return this.#options.proxy !== undefined
  }

  /** Checked again while a stream is open. */
  isStillIn(request: IncomingMessage): boolean {
    const { sessions, proxy } = this.#options
    return proxy !== undefined || sessions.of(this.#secretOf(request)) !== undefined
  }

  /** Requests that need no session, and those that end one. False for any other. */
  async data(asking: Asking): Promise<boolean> {
    const { request, response, url } = asking
    const isPost = request.method === 'POST'
    if (url.pathname === '/api/sign-in' && !isPost) await sendJson(request, response, 200, this.#ways())
    else if (url.pathname === '/api/sign-in') await this.#signIn(asking)
    else if (url.pathname === '/api/sign-out' && isPost) await this.#signOut(asking)
    else return false
    return true
  }

  /** Pages that lead to the console page. False for any other. */
  async page({ request, response, url }: Asking): Promise<boolean> {
    // Link previews must not use up a link.
    if (request.method === 'HEAD') return false
    const link = /^\/link\/([A-Za-z0-9_-]{43})$/.exec(url.pathname)?.[1]
    if (link !== undefined) this.#openLink(request, response, link)
    else if (url.pathname === '/oidc/start') await this.#begin(request, response, url)
    else if (url.pathname === '/oidc/back') await this.#back(request, response, url)
    else return false
    return true
  }

  #ways(): SignInWays {
    const { token, oidc } = this.#options
    return {
      ways: [...(oidc === undefined ? [] : (['Oidc'] as const)), ...(token === undefined ? [] : (['Token'] as const))],
      ...(oidc !== undefined && { issuer: oidc.issuerHost }),
    }
  }

  #how(): string {
    const { token, oidc } = this.#options
    return token === undefined && oidc === undefined
      ? 'not signed in; open the link that kubenode console prints'
      : 'not signed in; open the page and sign in'
  }

  async #signIn({ request, response }: Asking): Promise<void> {
    const { token: door, sessions } = this.#options
    if (door === undefined) throw new Refused(404, 'NotFound', 'tokens are not accepted here')
    const { token, cluster } = await readBody(request)
    if (cluster === undefined) {
      const opened = sessions.open(await door.signIn(token))
      // Do not leave an earlier session open without its cookie.
      sessions.close(this.#secretOf(request))
      response.setHeader('set-cookie', this.#cookie(opened))
    } else {
      const who = this.of(request)
      if (typeof cluster !== 'string' || !(who instanceof OwnClients))
        throw new Refused(404, 'NotFound', 'there is no such cluster to sign in to')
      await door.add(who, cluster, token)
    }
    return sendJson(request, response, 200, {})
  }

  async #signOut({ request, response }: Asking): Promise<void> {
    const { sessions, oidc } = this.#options
    const secret = this.#secretOf(request)
    const how = sessions.of(secret)?.person.how
    sessions.close(secret)
    response.setHeader('set-cookie', `${this.#cookieName}=; ${this.#cookieRules}; Max-Age=0`)
    const next = how === 'Oidc' ? await oidc?.endPlace(this.#placeOf(request)) : undefined
    return sendJson(request, response, 200, defined({ next }) satisfies SignedOut)
  }

  #openLink(request: IncomingMessage, response: ServerResponse, secret: string): void {
    const { sessions, onLinkUsed } = this.#options
    const who = sessions.useLink(secret)
    if (who === undefined) {
      // Reopened from the history of the browser that used it.
      const isIn = sessions.of(this.#secretOf(request)) !== undefined && !this.#isShared(request)
      if (!isIn)
        throw new Refused(410, 'LinkUsed', 'this link was used or is too old; run kubenode console for a new one')
      response.writeHead(303, { location: `${this.#options.base}/`, 'cache-control': 'no-store' })
      return void response.end()
    }
    const opened = sessions.open(who)
    // Browsers do not send the part after # to a server.
    this.#enter(response, opened, this.#isShared(request) ? `#page=${opened.page}` : '')
    onLinkUsed?.()
  }

  async #begin(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const { oidc } = this.#options
    if (oidc === undefined) throw new Refused(404, 'NotFound', 'no issuer is set up here')
    const { secret, location } = await oidc.begin(this.#placeOf(request), placeIn(url.searchParams.get('to')))
    response.writeHead(303, {
      location,
      'cache-control': 'no-store',
      // Lax: the browser returns from another site.
      'set-cookie': `${this.#flowCookie}=${secret}; Path=${this.#options.base}/; Secure; HttpOnly; SameSite=Lax; Max-Age=${FLOW_SECONDS}`,
    })
    response.end()
  }

  async #back(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const { oidc, sessions } = this.#options
    if (oidc === undefined) throw new Refused(404, 'NotFound', 'no issuer is set up here')
    const { who, to } = await oidc.end(cookieOf(request, this.#flowCookie), url.searchParams)
    const opened = sessions.open(who)
    this.#enter(response, opened, to)
  }

  /** `place`: the part of the address after the page's own. */
  #enter(response: ServerResponse, opened: Opened, place: string): void {
    const location = `${this.#options.base}/${place}`
    response.writeHead(303, { location, 'cache-control': 'no-store', 'set-cookie': this.#cookie(opened) })
    response.end()
  }

  #secretOf = (request: IncomingMessage): string | undefined => cookieOf(request, this.#cookieName)

  #cookie = ({ secret }: Opened): string => `${this.#cookieName}=${secret}; ${this.#cookieRules}`

  get #cookieRules(): string {
    const { base, isTls } = this.#options
    return `Path=${base}/; ${isTls ? 'Secure; ' : ''}HttpOnly; SameSite=Strict`
  }

  /** Cookies ignore ports: two consoles on one machine must not end each other's session. */
  get #cookieName(): string {
    const { isTls, port } = this.#options
    return isTls ? `${this.#prefix}kubenode-console` : `kubenode-console-${port()}`
  }

  get #flowCookie(): string {
    return `${this.#prefix}kubenode-sign-in`
  }

  /** Only `__Secure-` cookies may be kept from the other paths of a host. */
  get #prefix(): string {
    return this.#options.base === '' ? '__Host-' : '__Secure-'
  }

  /** The page's address as the browser reaches it, without a slash at its end; every request's host is checked. */
  #placeOf({ headers }: IncomingMessage): string {
    return `https://${headers.host ?? one(headers[':authority'])}${this.#options.base}`
  }

  /** Whether browsers also send this host's cookies to other users' servers on other ports of this machine. */
  #isShared({ headers }: IncomingMessage): boolean {
    const { isTls, ownHost } = this.#options
    return !isTls && headers.host?.toLowerCase() !== `${ownHost}:${this.#options.port()}`
  }
}

/** Only the page part after `#`: a link to another site would mislead users who just signed in. */
const placeIn = (to: string | null): string =>
  to !== null && to.length <= MOST_PLACE && /^#\/[!-~]*$/.test(to) ? to : ''
