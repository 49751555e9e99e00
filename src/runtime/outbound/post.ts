// One POST to a place that is allowed: the address is judged where the connection is made, nothing is followed, and time and size have bounds.
import { lookup as systemLookup } from 'node:dns'
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http'
import { type RequestOptions, request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { isIP } from 'node:net'
import { messageOf } from '#lib/errors.ts'
import type { OutboundPlaces, Place } from './places.ts'
import { hostOf, isLocalAddress, judgeUrl } from './places.ts'

export interface Post {
  readonly url: string
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Tells the other side that a second call is the same call. */
  readonly idempotencyKey?: string
  /** Sent as a bearer token, and nowhere but to this origin. */
  readonly token?: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export type PostResult =
  | { readonly kind: 'Answered'; readonly status: number; readonly text: string }
  /** Nothing was sent. */
  | { readonly kind: 'Refused'; readonly why: string }
  /** It may have been heard all the same. */
  | { readonly kind: 'Failed'; readonly why: string }

/** Of an answer; the rest is not read. */
const MOST_BYTES = 64 * 1024

/** Headers that would change what is said, or to whom. */
const OURS: ReadonlySet<string> = new Set([
  'authorization',
  'content-length',
  'content-type',
  'connection',
  'cookie',
  'expect',
  'host',
  'idempotency-key',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

export interface PostTools {
  readonly places: OutboundPlaces
  /** Only tests hand in another one. */
  readonly lookup?: LookupFunction
}

export async function post({ places, lookup = systemLookup }: PostTools, wish: Post): Promise<PostResult> {
  const verdict = judgeUrl(wish.url, places)
  if (verdict.kind === 'Refused') return verdict
  const { url, place } = verdict
  const host = hostOf(url)
  if (!place.isLiteral && isIP(host) > 0 && isLocalAddress(host))
    return { kind: 'Refused', why: `${host} is a local address` }
  if (wish.token !== undefined && url.protocol === 'http:' && !place.isLiteral)
    return { kind: 'Refused', why: 'a token is never sent over http' }
  return send(url, wish, guarded(lookup, place))
}

/** What a name stands for is judged by the very answer that is connected to: a second question could get another one. */
const guarded =
  (lookup: LookupFunction, place: Place): LookupFunction =>
  (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, found, family) => {
      if (error !== null) return callback(error, '', 0)
      const list = typeof found === 'string' ? [{ address: found, family: family ?? isIP(found) }] : found
      const bad = list.find(({ address }) => !place.isLiteral && isLocalAddress(address))
      const [first] = list
      if (bad !== undefined || first === undefined)
        return callback(
          new Error(`${hostname} resolves to ${bad === undefined ? 'no address' : `the local address ${bad.address}`}`),
          '',
          0,
        )
      return options.all === true ? callback(null, list) : callback(null, first.address, first.family)
    })

function send(
  url: URL,
  { body, headers = {}, idempotencyKey, token, timeoutMs, signal }: Post,
  lookup: LookupFunction,
): Promise<PostResult> {
  const payload = Buffer.from(JSON.stringify(body))
  const options: RequestOptions = {
    method: 'POST',
    agent: false,
    lookup,
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    headers: {
      ...Object.fromEntries(Object.entries(headers).filter(([name]) => !OURS.has(name.toLowerCase()))),
      'content-type': 'application/json',
      'content-length': payload.length,
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
  }
  return new Promise((resolve) => {
    const fail = (error: Error) => resolve({ kind: 'Failed', why: withoutToken(error.message, token) })
    const heard = (answer: IncomingMessage): void => {
      const status = answer.statusCode ?? 0
      const chunks: Buffer[] = []
      let bytes = 0
      const done = () =>
        resolve({ kind: 'Answered', status, text: withoutToken(Buffer.concat(chunks).toString(), token) })
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes <= MOST_BYTES) chunks.push(chunk)
        else {
          done()
          call.destroy()
        }
      })
      answer.on('end', done)
      answer.on('error', fail)
    }
    let call: ClientRequest
    try {
      call = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options, heard)
    } catch (e) {
      // A header that cannot be one.
      return resolve({ kind: 'Refused', why: withoutToken(messageOf(e), token) })
    }
    call.on('error', fail)
    return call.end(payload)
  })
}

/** An answer may echo what was sent. */
const withoutToken = (text: string, token: string | undefined): string =>
  token === undefined || token === '' ? text : text.replaceAll(token, '(token)')
