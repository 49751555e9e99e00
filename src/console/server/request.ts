// The parts of a console request: path, query, cookie and a bounded JSON body.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzip } from 'node:zlib'
import { promisify } from 'node:util'
import { isObject } from '#lib/json.ts'
import type { Refusal } from '../protocol.ts'
import { DATA_POLICY } from './headers.ts'

const packed = promisify(gzip)

/** A reason, a name and a digest. */
const MOST_BODY = 16 * 1024
const BODY_MS = 30_000
/** Compressing smaller responses does not pay off. */
const LEAST_PACKED = 1_024

export class Refused extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

export const wrong = (what: string): Refused => new Refused(422, 'Invalid', what)

export const JSON_TYPE = 'application/json; charset=utf-8'

export const sendJson = (
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: object,
): Promise<void> => sendText(request, response, status, JSON_TYPE, JSON.stringify(body))

/** A browser that opens the URL shows a sentence; the page itself requests data. */
export const sendRefusal = (
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: Refusal,
): Promise<void> =>
  /\btext\/html\b/.test(request.headers.accept ?? '')
    ? sendText(request, response, status, 'text/plain; charset=utf-8', `${body.message}\n`)
    : sendJson(request, response, status, body)

async function sendText(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  type: string,
  text: string,
): Promise<void> {
  sendBody(request, response, status, type, await bodyOf(text, acceptsGzip(request)))
}

/** As sent; several responses may share one. */
export interface Body {
  readonly bytes: Buffer
  readonly isPacked: boolean
}

export async function bodyOf(text: string, mayPack: boolean): Promise<Body> {
  const isPacked = text.length >= LEAST_PACKED && mayPack
  return { bytes: isPacked ? await packed(text, { level: 4 }) : Buffer.from(text), isPacked }
}

export function sendBody(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  type: string,
  { bytes, isPacked }: Body,
): void {
  response.writeHead(status, {
    'content-type': type,
    'cache-control': 'no-store',
    'content-security-policy': DATA_POLICY,
    'content-length': bytes.length,
    vary: 'accept-encoding',
    ...(isPacked && { 'content-encoding': 'gzip' }),
  })
  response.end(request.method === 'HEAD' ? undefined : bytes)
}

export const acceptsGzip = ({ headers }: IncomingMessage): boolean =>
  /(^|,)\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*(,|$))|,|$)/i.test(headers['accept-encoding'] ?? '')

export async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  // HTTP/2 has no time limit for a single request.
  const late = setTimeout(() => request.destroy(new Error('the request takes too long')), BODY_MS).unref()
  request.once('close', () => clearTimeout(late))
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MOST_BODY) throw new Refused(413, 'TooLarge', `the request is larger than ${MOST_BODY} bytes`)
    chunks.push(chunk)
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    if (isObject(value)) return value
  } catch {
    // Reported below.
  }
  throw new Refused(400, 'NotJson', 'the request is not a JSON object')
}

export const one = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'object' ? header[0] : header

/** The first cookie with this name. */
export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  for (const part of (headers.cookie ?? '').split(';')) {
    const equals = part.indexOf('=')
    if (equals > 0 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim()
  }
  return undefined
}
