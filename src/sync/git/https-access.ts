// What a Secret provides for a source over https: its credentials, and the authorities to trust instead of the system's.
import { X509Certificate } from 'node:crypto'

export interface HttpsAccess {
  readonly kind: 'Https'
  /** The value of the header. */
  readonly authorization?: string
  /** PEM certificates; if set, the system's authorities are not trusted. */
  readonly authorities?: string
  readonly proxy?: HttpProxy
  /** Strings that no message may contain. */
  readonly secrets: readonly string[]
}

interface HttpProxy {
  /** The URL for messages, without credentials. */
  readonly url: string
  /** The URL with its credentials. */
  readonly address: string
}

/** The rest of a sentence about the Secret. */
export interface Unusable {
  readonly kind: 'Unusable'
  readonly why: string
}

type Fields = (name: string) => string | undefined

/** No server accepts longer headers. */
const MAX_CREDENTIAL_CHARS = 8_192
const CONTROL = /[\u0000-\u001f\u007f]/ // oxlint-disable-line no-control-regex
const PRINTABLE = /^[\u0021-\u007e]+$/

const unusable = (why: string): Unusable => ({ kind: 'Unusable', why })

export function httpsAccess(field: Fields, now: number): HttpsAccess | Unusable {
  const credentials = credentialsIn(field)
  if ('why' in credentials) return credentials
  const pem = field('ca.crt')
  if (pem === undefined) {
    if (credentials.authorization !== undefined || field('proxyUsername') !== undefined) return credentials
    return unusable('has neither username and password, nor bearerToken, nor ca.crt')
  }
  const authorities = authoritiesIn(pem, now)
  return typeof authorities === 'string' ? { ...credentials, authorities } : authorities
}

/** Uses the proxy user and password from the Secret, if it has any. */
export function withProxy(access: HttpsAccess, url: string, field: Fields): HttpsAccess | Unusable {
  const [username, password] = [field('proxyUsername'), field('proxyPassword')]
  if (username === undefined && password === undefined) return { ...access, proxy: { url, address: url } }
  if (username === undefined || password === undefined)
    return unusable(`has no ${username === undefined ? 'proxyUsername' : 'proxyPassword'}`)
  const problem = problemOf('username', username) ?? problemOf('password', password)
  if (problem !== undefined) return unusable(`${problem} (of the proxy)`)
  const [user, word] = [encodeURIComponent(username), encodeURIComponent(password)]
  const address = url.replace('://', `://${user}:${word}@`)
  return { ...access, proxy: { url, address }, secrets: [...access.secrets, password, word] }
}

function credentialsIn(field: Fields): HttpsAccess | Unusable {
  const given = CREDENTIALS.filter((name) => field(name) !== undefined)
  const problem = given.map((name) => problemOf(name, field(name) ?? '')).find((why) => why !== undefined)
  if (problem !== undefined) return unusable(problem)
  const [username, password] = [field('username'), field('password')]
  const tokens = ['bearerToken', 'token'].flatMap((name) => field(name) ?? [])
  const [token] = tokens
  if (tokens.length > 1 || (token !== undefined && given.length > 1))
    return unusable(`has ${given.join(', ')}: keep either username and password, or bearerToken`)
  if (token !== undefined) return withHeader(`Bearer ${token}`, [token])
  if (username === undefined && password === undefined) return { kind: 'Https', secrets: [] }
  if (username === undefined || password === undefined)
    return unusable(`has no ${username === undefined ? 'username' : 'password'}`)
  const encoded = Buffer.from(`${username}:${password}`).toString('base64')
  return withHeader(`Basic ${encoded}`, [encoded, password])
}

const CREDENTIALS = ['username', 'password', 'bearerToken', 'token'] as const

const withHeader = (authorization: string, secrets: readonly string[]): HttpsAccess => ({
  kind: 'Https',
  authorization,
  secrets,
})

/** A line break would end the header and start another one. */
function problemOf(name: (typeof CREDENTIALS)[number], value: string): string | undefined {
  if (value.length > MAX_CREDENTIAL_CHARS) return `has a ${name} of more than ${MAX_CREDENTIAL_CHARS} characters`
  if (/^[^\r\n]*[\r\n]+$/.test(value)) return `has a ${name} that ends with a newline; write it with printf %s`
  if (CONTROL.test(value)) return `has a ${name} of several lines, or with control characters`
  if (name === 'username' && value.includes(':')) return 'has a username with a colon'
  if (name.endsWith('oken') && !PRINTABLE.test(value)) return `has a ${name} with spaces or characters outside ASCII`
  return undefined
}

/** If there are several, the ones that are still valid are enough: during a replacement both authorities are trusted. */
function authoritiesIn(text: string, now: number): string | Unusable {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g) ?? []
  const certificates = blocks.map(certificateIn)
  if (certificates.length === 0 || certificates.includes(undefined))
    return unusable('has a ca.crt that is not a certificate in PEM')
  const lastDay = Math.max(...certificates.map((c) => c?.validToDate.getTime() ?? 0))
  if (lastDay < now) return unusable(`has a ca.crt that expired on ${new Date(lastDay).toISOString().slice(0, 10)}`)
  return `${blocks.join('\n')}\n`
}

function certificateIn(block: string): X509Certificate | undefined {
  try {
    return new X509Certificate(block)
  } catch {
    return undefined
  }
}
