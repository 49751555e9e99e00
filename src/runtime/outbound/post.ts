// Sends one POST to an allowed origin: checks the address at connect time, follows no redirect, and limits time and size.
import type { ClientRequest, IncomingMessage } from 'node:http'
import { type RequestOptions, request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { nodeHttp } from '#lib/node-http.ts'
import { checkedLookup, forbiddenHostOf } from './checked-lookup.ts'
import { ownPlaces } from './own-addresses.ts'
import { type OutboundPlaces, judgeUrl } from './places.ts'

export interface Post {
  readonly url: string
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Lets the other side recognize a repeated call. */
  readonly idempotencyKey?: string
  /** Sent as a bearer token, only to this origin. */
  readonly token?: string
  /** PEM: the only CA trusted for this call. */
  readonly ca?: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export type PostResult =
  | { readonly kind: 'Answered'; readonly status: number; readonly text: string }
  /** Nothing was sent. */
  | { readonly kind: 'Refused'; readonly why: string }
  /** The other side may have received it anyway. */
  | { readonly kind: 'Failed'; readonly why: string }

/** Of the answer; the rest is not read. */
const MOST_BYTES = 64 * 1024

/** Headers that would change the content or the recipient. */
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
  /** Replaced in tests only. */
  readonly lookup?: LookupFunction
}

export async function post({ places, lookup }: PostTools, outgoing: Post): Promise<PostResult> {
  const verdict = judgeUrl(outgoing.url, places)
  if (verdict.kind === 'Refused') return verdict
  const { url, place } = verdict
  const isTrusted = place.isLiteral
  const host = isTrusted ? undefined : forbiddenHostOf(url, ownPlaces())
  if (host !== undefined) return { kind: 'Refused', why: `${host} is an address that must not be called` }
  if (outgoing.token !== undefined && url.protocol === 'http:' && !isTrusted)
    return { kind: 'Refused', why: 'a token is never sent over http' }
  return send(url, outgoing, checkedLookup({ isTrusted, own: ownPlaces(), lookup }))
}

function send(
  url: URL,
  { body, headers = {}, idempotencyKey, token, ca, timeoutMs, signal }: Post,
  lookup: LookupFunction,
): Promise<PostResult> {
  const payload = Buffer.from(JSON.stringify(body))
  const options: RequestOptions = {
    method: 'POST',
    agent: false,
    lookup,
    ...defined({ ca }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    headers: {
      ...Object.fromEntries(Object.entries(headers).filter(([name]) => !OURS.has(name.toLowerCase()))),
      'content-type': 'application/json',
      'content-length': payload.length,
      ...defined({ 'idempotency-key': idempotencyKey }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
  }
  return new Promise((resolve) => {
    const fail = (error: Error) => resolve({ kind: 'Failed', why: withoutToken(error.message, token) })
    const onAnswer = (answer: IncomingMessage): void => {
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
      call = (url.protocol === 'https:' ? httpsRequest : nodeHttp.request)(url, options, onAnswer)
    } catch (e) {
      // An invalid header.
      return resolve({ kind: 'Refused', why: withoutToken(messageOf(e), token) })
    }
    call.on('error', fail)
    return call.end(payload)
  })
}

/** An answer may echo the token. */
const withoutToken = (text: string, token: string | undefined): string =>
  token === undefined || token === '' ? text : text.replaceAll(token, '(token)')
