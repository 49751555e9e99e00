// A client's authentication to a registry: a name and password, or a short-lived token from the registry's token service.
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { ociErrors } from './oci-errors.ts'
import { readAnswer, type RegistryAnswer, type RegistryHttp } from './registry-http.ts'

export interface Credentials {
  readonly username: string
  readonly password: string
}

export interface Challenge {
  readonly scheme: 'basic' | 'bearer'
  readonly parameters: Readonly<Record<string, string>>
}

const MAX_CHALLENGE = 4_096
const MAX_TOKEN_ANSWER = 256 * 1024
/** Characters that a header may contain. */
const TOKEN = /^[\x21-\x7e]{1,65536}$/

/** Parses a WWW-Authenticate header; undefined for an unsupported scheme. */
export function parseChallenge(header: string): Challenge | undefined {
  const [, scheme = '', rest = ''] = /^\s*([a-z]+)(?:\s+(.*))?$/is.exec(header.slice(0, MAX_CHALLENGE)) ?? []
  const name = scheme.toLowerCase()
  if (name !== 'basic' && name !== 'bearer') return undefined
  const found = [...rest.matchAll(/([a-z]+)="([^"]*)"/gi)].map(([, key = '', value = '']) => [key.toLowerCase(), value])
  return { scheme: name, parameters: Object.fromEntries(found) as Record<string, string> }
}

const basic = ({ username, password }: Credentials): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

export interface AuthOptions {
  readonly http: RegistryHttp
  readonly credentials?: Credentials
  /** `repository:NAME:pull,push`. */
  readonly scope: string
}

/** The Authorization header that answers a challenge; undefined if there is none to give. */
export async function answerChallenge(
  answer: RegistryAnswer,
  what: string,
  { http, credentials, scope }: AuthOptions,
): Promise<string | undefined> {
  const challenge = parseChallenge(answer.headers['www-authenticate'] ?? '')
  if (challenge === undefined) return undefined
  if (challenge.scheme === 'basic') return credentials === undefined ? undefined : basic(credentials)
  const { realm = '', service } = challenge.parameters
  const suspicious = (why: string) => new KubeNodeError(ociErrors.KN13023({ what, host: answer.url.host, why }))
  const url = URL.parse(realm)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) throw suspicious('it names no service for tokens')
  if (answer.url.protocol === 'https:' && url.protocol === 'http:')
    throw suspicious(`its service for tokens at ${url.host} has no TLS`)
  if (service !== undefined) url.searchParams.set('service', service)
  url.searchParams.set('scope', scope)
  const headers = credentials === undefined ? {} : { authorization: basic(credentials) }
  const given = await http.send({ method: 'GET', url, headers, what: 'get a token' })
  const text = (await readAnswer(given, MAX_TOKEN_ANSWER, 'get a token')).toString('utf8')
  if (given.status !== 200) return undefined
  const token = tokenIn(text)
  if (token === undefined) throw suspicious(`${url.host} answered with no token`)
  return `Bearer ${token}`
}

function tokenIn(text: string): string | undefined {
  try {
    const answer: unknown = JSON.parse(text)
    const token = isObject(answer) ? (answer['token'] ?? answer['access_token']) : undefined
    return typeof token === 'string' && TOKEN.test(token) ? token : undefined
  } catch {
    return undefined
  }
}
