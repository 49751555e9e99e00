// Requests a URL from an object of the cluster: only http and https, only allowed addresses, within a time and a size. It connects to exactly the address that
// was checked.
import type http from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { nodeHttp } from '#lib/node-http.ts'
import { refuseUpgrade } from '#lib/refuse-upgrade.ts'
import { checkedLookup, ForbiddenAddressError } from './checked-lookup.ts'
import { ownPlaces } from './own-addresses.ts'
import { forbiddenText, refusedUrl } from './refused-url.ts'

export interface HttpLimits {
  /** Origins that may be requested wherever they resolve to; the controllers' operator vouches for them. */
  readonly allow: ReadonlySet<string>
  /** Canonical hosts of the API servers that this program works for: an object must never make it call them. */
  readonly apiServers?: readonly string[]
  readonly deadlineMs: number
  readonly maxBytes: number
  readonly signal?: AbortSignal
  /** Sent as a bearer token; redirects stay at the origin it is meant for. */
  readonly token?: string
  /** GET if left out. */
  readonly method?: 'PUT'
  /** Extra headers in lower case; redirects stay at the origin they are meant for. */
  readonly headers?: Readonly<Record<string, string>>
  /** PEM: the only CA trusted for this request. */
  readonly ca?: string
  /** Name resolution; the system's if left out. */
  readonly resolve?: LookupFunction
}

export type HttpAnswer =
  | { readonly kind: 'Answered'; readonly status: number; readonly text: string }
  /** Not allowed, or no answer within time and size. */
  | { readonly kind: 'Refused' | 'Silent'; readonly message: string }

/** Covers a service that moved; more is a loop. */
const MOST_REDIRECTS = 3
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

export async function ask(url: string, limits: HttpLimits): Promise<HttpAnswer> {
  const deadline = AbortSignal.timeout(limits.deadlineMs)
  const signal = limits.signal === undefined ? deadline : AbortSignal.any([deadline, limits.signal])
  let next = url
  for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
    const refusal = refusedUrl(next, limits.allow, ownPlaces(limits.apiServers))
    if (refusal !== undefined) return { kind: 'Refused', message: refusal }
    const target = new URL(next)
    const answer = await once(target, limits, signal)
    if (answer.kind !== 'Moved') return answer
    const to = URL.parse(answer.to, target)
    // The inspection's author did not name that origin.
    if (to?.origin !== target.origin)
      return { kind: 'Refused', message: `redirect to another origin: ${to?.origin ?? 'an invalid URL'}` }
    next = to.href
  }
  return { kind: 'Refused', message: `more than ${MOST_REDIRECTS} redirects` }
}

type Once = HttpAnswer | { readonly kind: 'Moved'; readonly to: string }

function once(url: URL, limits: HttpLimits, signal: AbortSignal): Promise<Once> {
  return new Promise((done) => {
    const options: https.RequestOptions = {
      method: limits.method ?? 'GET',
      signal,
      // Do not share connections: a kept-alive one would skip the address check.
      agent: false,
      lookup: checkedLookup({
        isTrusted: limits.allow.has(url.origin),
        own: ownPlaces(limits.apiServers),
        lookup: limits.resolve,
      }),
      headers: {
        accept: 'application/json, */*',
        'accept-encoding': 'identity',
        'user-agent': 'kubenode',
        ...limits.headers,
        ...(limits.token !== undefined && { authorization: `Bearer ${limits.token}` }),
      },
      ...defined({ ca: limits.ca }),
    }
    const onResponse = (response: http.IncomingMessage): void => {
      const { statusCode: status = 0, headers } = response
      if (REDIRECTS.has(status) && headers.location !== undefined) {
        response.destroy()
        return done({ kind: 'Moved', to: headers.location })
      }
      done(bodyOf(response, url, signal, limits))
    }
    let request: http.ClientRequest
    try {
      request =
        url.protocol === 'https:' ? https.request(url, options, onResponse) : nodeHttp.request(url, options, onResponse)
    } catch {
      // A token that does not fit a header, or an invalid CA. The error may quote it.
      return done({ kind: 'Refused', message: 'the token or the authority of its Secret cannot be used' })
    }
    refuseUpgrade(request)
    request.on('error', (e) => done(failureOf(e, url, signal, limits)))
    return request.end()
  })
}

function failureOf(e: unknown, { origin }: URL, signal: AbortSignal, { deadlineMs }: HttpLimits): HttpAnswer {
  if (e instanceof ForbiddenAddressError) return { kind: 'Refused', message: forbiddenText(origin, e.address) }
  return { kind: 'Silent', message: signal.aborted ? `no complete response within ${deadlineMs} ms` : plainly(e) }
}

/** Plain wording for the errors of Node and its parser. */
function plainly(e: unknown): string {
  const code = e instanceof Error && 'code' in e ? String(e.code) : ''
  if (code.startsWith('HPE_INVALID_')) return 'the response is not valid HTTP'
  if (code === 'ECONNRESET') return 'the connection ended before the response was complete'
  return messageOf(e)
}

async function bodyOf(
  response: http.IncomingMessage,
  url: URL,
  signal: AbortSignal,
  limits: HttpLimits,
): Promise<HttpAnswer> {
  try {
    return { kind: 'Answered', status: response.statusCode ?? 0, text: await read(response, limits.maxBytes) }
  } catch (e) {
    return failureOf(e, url, signal, limits)
  }
}

async function read(response: http.IncomingMessage, most: number): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length
    if (size > most) {
      response.destroy()
      throw new Error(`response exceeds ${most} bytes`)
    }
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}
