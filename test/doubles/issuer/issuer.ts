// An issuer of OpenID Connect on loopback, over HTTPS: it signs in the person that a test names, and lies as the test tells it to.
import { createHash, createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { newAuthority } from '#test/support/servers/tls.ts'

const KEY_ID = 'first'
const LIFE_S = 3_600

export interface Lies {
  /** Instead of what is true. */
  claims?: Readonly<Record<string, unknown>>
  discovery?: Readonly<Record<string, unknown>>
  header?: Readonly<Record<string, unknown>>
  /** How the token is signed: not at all, with the public key as a shared one, or with the key of another issuer. */
  signature?: 'None' | 'PublicKeyAsSecret' | 'OtherKey'
  /** Bytes of spaces in the set of keys. */
  keysSize?: number
  /** Sends the console elsewhere instead of answering at this path. */
  redirect?: string
  /** Of the token endpoint. */
  status?: number
}

export interface Issuer {
  readonly url: string
  readonly ca: string
  /** Who is signed in next. */
  person: { readonly sub: string; readonly groups: readonly string[] }
  lifeSeconds: number
  lies: Lies
  readonly asked: string[]
  /** A browser that follows the address of the console; the address with the code. */
  signIn(location: string): URL
  stop(): Promise<void>
}

interface Code {
  readonly challenge: string
  readonly nonce: string
  readonly client: string
  readonly back: string
  readonly person: Issuer['person']
}

export async function startIssuer(): Promise<Issuer> {
  const authority = await newAuthority('issuer-ca')
  const pair = await authority.server()
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const others = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const codes = new Map<string, Code>()
  const refreshes = new Map<string, Code>()
  const server: Server = createServer(pair, (request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `https://localhost:${(server.address() as AddressInfo).port}`

  const issuer: Issuer = {
    url,
    ca: authority.cert,
    person: { sub: 'ada', groups: [] },
    lifeSeconds: LIFE_S,
    lies: {},
    asked: [],
    signIn: (location) => {
      const { searchParams: q } = new URL(location)
      const code = randomUUID()
      codes.set(code, {
        challenge: q.get('code_challenge') ?? '',
        nonce: q.get('nonce') ?? '',
        client: q.get('client_id') ?? '',
        back: q.get('redirect_uri') ?? '',
        person: issuer.person,
      })
      const back = new URL(q.get('redirect_uri') ?? '')
      back.searchParams.set('code', code)
      back.searchParams.set('state', q.get('state') ?? '')
      return back
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', url).pathname
    issuer.asked.push(path)
    if (issuer.lies.redirect === path) return void response.writeHead(302, { location: 'https://localhost:1/' }).end()
    const json = (body: object, status = 200, more = '') =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(more + JSON.stringify(body))
    if (path === '/.well-known/openid-configuration')
      return json({
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/keys`,
        end_session_endpoint: `${url}/end`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        ...issuer.lies.discovery,
      })
    if (path === '/keys') {
      const jwk = {
        ...keys.publicKey.export({ format: 'jwk' }),
        kid: KEY_ID,
        alg: 'RS256',
        use: 'sig',
      }
      return json({ keys: [jwk] }, 200, ' '.repeat(issuer.lies.keysSize ?? 0))
    }
    if (path !== '/token') return json({ error: 'not_found' }, 404)
    if (issuer.lies.status !== undefined) return json({ error: 'server_error' }, issuer.lies.status)
    const form = new URLSearchParams(Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString())
    const code = form.get('grant_type') === 'refresh_token' ? refreshOf(form) : codeOf(form)
    if (code === undefined) return json({ error: 'invalid_grant' }, 400)
    const refresh = randomUUID()
    refreshes.set(refresh, code)
    return json({ id_token: tokenFor(code), access_token: 'none', token_type: 'Bearer', refresh_token: refresh })
  }

  function refreshOf(form: URLSearchParams): Code | undefined {
    const given = form.get('refresh_token') ?? ''
    const found = refreshes.get(given)
    refreshes.delete(given)
    return found
  }

  function codeOf(form: URLSearchParams): Code | undefined {
    const given = form.get('code') ?? ''
    const found = codes.get(given)
    codes.delete(given)
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isRight = found?.challenge === verifier && found.back === form.get('redirect_uri')
    return isRight && found.client === form.get('client_id') ? found : undefined
  }

  function tokenFor({ nonce, client, person }: Code): string {
    const now = Math.floor(Date.now() / 1_000)
    const claims = { iss: url, aud: client, sub: person.sub, groups: person.groups, nonce, iat: now }
    return signedToken(
      { alg: 'RS256', kid: KEY_ID, ...issuer.lies.header },
      { ...claims, exp: now + issuer.lifeSeconds, ...issuer.lies.claims },
      issuer.lies.signature === 'OtherKey' ? others.privateKey : keys.privateKey,
    )
  }

  function signedToken(header: object, claims: object, key: KeyObject): string {
    const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
    const { signature } = issuer.lies
    if (signature === 'None') return `${text}.`
    if (signature !== 'PublicKeyAsSecret')
      return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
    const secret = keys.publicKey.export({ type: 'spki', format: 'pem' })
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
  }

  return issuer
}
