// oidc-provider, an issuer that is certified for OpenID Connect, on loopback over HTTPS. Between it and the console a test may change what it answers.
import { createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import { newAuthority } from '#test/support/servers/tls.ts'

export type Change = (body: Record<string, unknown>) => unknown

export interface CertifiedIssuer {
  readonly url: string
  readonly ca: string
  /** Paths that were asked for. */
  readonly asked: string[]
  /** How often it gave tokens. */
  given: number
  /** Of the next people who sign in. */
  groups: readonly string[]
  lifeSeconds: number
  /** Path → what is answered there instead; a promise makes it slow. */
  readonly changes: Map<string, Change>
  /** Path → address: redirects instead of answering. */
  readonly redirects: Map<string, string>
  readonly publicKey: KeyObject
  /** With the key of the issuer. */
  readonly signed: (text: string) => Buffer
  /** A console at this address may send people here; with a secret it is no public client. */
  register(origin: string, secret?: string): void
  /** A new key signs, and the old one is no longer published. */
  rotate(): void
  stop(): Promise<void>
}

interface Signing {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly id: string
}

interface Remembered {
  readonly uid?: string
  readonly grantId?: string
  consumed?: number
}

/** Where oidc-provider keeps sessions, codes and tokens of a kind. */
function memoryOf(all: Map<string, Remembered>, kind: string) {
  const find = (id: string) => Promise.resolve(all.get(`${kind} ${id}`))
  return {
    find,
    findByUid: (uid: string) => Promise.resolve([...all.values()].find((one) => one.uid === uid)),
    upsert: async (id: string, one: Remembered) => void all.set(`${kind} ${id}`, one),
    destroy: async (id: string) => void all.delete(`${kind} ${id}`),
    consume: async (id: string) => {
      const one = await find(id)
      if (one !== undefined) one.consumed = Math.floor(Date.now() / 1_000)
    },
    revokeByGrantId: async (grantId: string) => {
      for (const [key, one] of all) if (one.grantId === grantId) all.delete(key)
    },
  }
}

const newSigning = (): Signing => ({ ...generateKeyPairSync('rsa', { modulusLength: 2048 }), id: randomUUID() })

export async function startCertifiedIssuer(): Promise<CertifiedIssuer> {
  const authority = await newAuthority('issuer-ca')
  let listener: RequestListener = (_, response) => void response.writeHead(503).end()
  let signing = newSigning()
  let origin = ''
  let secret: string | undefined
  /** Outlives its keys. */
  const remembered = new Map<string, Remembered>()
  const server = createServer(await authority.server(), (request, response) => {
    issuer.asked.push(request.url?.split('?')[0] ?? '')
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `https://localhost:${(server.address() as AddressInfo).port}`

  function renew(): void {
    const provider = new Provider(url, {
      adapter: (kind: string) => memoryOf(remembered, kind),
      clients: [
        {
          client_id: 'console',
          ...(secret === undefined
            ? { token_endpoint_auth_method: 'none' }
            : { token_endpoint_auth_method: 'client_secret_post', client_secret: secret }),
          redirect_uris: [`${origin}/oidc/back`],
          post_logout_redirect_uris: [`${origin}/`],
          grant_types: ['authorization_code', 'refresh_token'],
        },
      ],
      jwks: { keys: [{ ...signing.privateKey.export({ format: 'jwk' }), kid: signing.id, alg: 'RS256', use: 'sig' }] },
      cookies: { keys: ['of this test'] },
      claims: { openid: ['sub', 'groups'] },
      conformIdTokenClaims: false,
      findAccount: (_: unknown, accountId: string) => ({
        accountId,
        claims: () => ({ sub: accountId, groups: issuer.groups }),
      }),
      issueRefreshToken: () => true,
      pkce: { required: () => true },
      ttl: { IdToken: () => issuer.lifeSeconds },
    })
    provider.use(async (context, next) => {
      const elsewhere = issuer.redirects.get(context.path)
      if (elsewhere !== undefined) return context.redirect(elsewhere)
      await next()
      const change = issuer.changes.get(context.path)
      if (context.path === '/token' && context.status === 200) issuer.given++
      if (change !== undefined) context.body = await change(context.body as Record<string, unknown>)
    })
    listener = provider.callback()
  }

  const issuer: CertifiedIssuer = {
    url,
    ca: authority.cert,
    asked: [],
    given: 0,
    groups: [],
    lifeSeconds: 3_600,
    changes: new Map(),
    redirects: new Map(),
    get publicKey() {
      return signing.publicKey
    },
    signed: (text) => byKey(signing.privateKey)(text),
    register: (of, itsSecret) => {
      origin = of
      secret = itsSecret
      renew()
    },
    rotate: () => {
      signing = newSigning()
      renew()
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return issuer
}

/** A token with other parts; signed as the test says, or with the signature that it had. */
export function altered(
  token: unknown,
  { header = {}, claims = {} }: { readonly header?: object; readonly claims?: object },
  signed?: (text: string) => Buffer,
): string {
  const [head = '', body = '', signature = ''] = String(token).split('.')
  const part = (old: string, more: object): string =>
    Buffer.from(
      JSON.stringify({ ...(JSON.parse(Buffer.from(old, 'base64url').toString()) as object), ...more }),
    ).toString('base64url')
  const text = `${part(head, header)}.${part(body, claims)}`
  return `${text}.${signed?.(text).toString('base64url') ?? signature}`
}

export const bySecret = (secret: string) => (text: string) => createHmac('sha256', secret).update(text).digest()
export const byKey = (key: KeyObject) => (text: string) => sign('sha256', Buffer.from(text), key)

/** A person at the pages of the issuer, without a browser, until these lead elsewhere. */
export async function visit(issuer: CertifiedIssuer, address: string, login: string): Promise<URL> {
  const jar = new Map<string, string>()
  let url = new URL(address)
  let form: URLSearchParams | undefined
  for (let page = 0; page < MOST_PAGES; page++) {
    const { location, text } = await opened(issuer, url, jar, form)
    form = undefined
    if (location !== undefined) {
      url = new URL(location, url)
      if (url.origin !== issuer.url) return url
      continue
    }
    const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1]
    if (action === undefined) throw new Error(`the issuer shows a page without a form: ${text.slice(0, 2_000)}`)
    const hidden = [...text.matchAll(/<input[^>]*type="hidden"[^>]*name="(\w+)"[^>]*value="([^"]*)"/g)]
    form = new URLSearchParams(hidden.map(([, name = '', value = '']): [string, string] => [name, value]))
    for (const [name, value] of [
      ['login', login],
      ['password', 'any'],
      ['logout', 'yes'],
    ] as const)
      form.set(name, value)
    url = new URL(action, url)
  }
  throw new Error('the issuer asks without end')
}

const MOST_PAGES = 12

const opened = (issuer: CertifiedIssuer, url: URL, jar: Map<string, string>, form: URLSearchParams | undefined) =>
  new Promise<{ location: string | undefined; text: string }>((resolve, reject) => {
    const headers = {
      cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
      ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
    }
    const method = form === undefined ? 'GET' : 'POST'
    const sent = request(url, { method, headers, ca: issuer.ca, agent: false }, (response) => {
      for (const cookie of response.headers['set-cookie'] ?? []) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
        jar.set(name, value)
      }
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => resolve({ location: response.headers.location, text: Buffer.concat(chunks).toString() }))
    })
    sent.on('error', reject)
    sent.end(form?.toString())
  })
