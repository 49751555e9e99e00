// Serves providers over kubenode-provider/v1: one on a Unix socket that only this user can open, or several over https, each below its name, to callers with
// the token.
import { timingSafeEqual } from 'node:crypto'
import { lstatSync, rmSync } from 'node:fs'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { umask } from 'node:process'
import type { Clock } from '#lib/clock.ts'
import { boundConnections, SILENT_MS } from '#lib/connection-bound.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { nodeHttp } from '#lib/node-http.ts'
import { sha256 } from '#lib/sha256.ts'
import type { Provider } from '../port.ts'
import { providersErrors } from '../providers-errors.ts'
import { errorReply, ProtocolError, ProviderHandler, type Reply } from './handler.ts'
import { DEADLINE_HEADER, EVENTS_WAIT_MS, LONGEST_DEADLINE_MS, MAX_BODY_BYTES, USUAL_DEADLINE_MS } from './protocol.ts'

export interface ServingKeys {
  readonly cert: string
  readonly key: string
  readonly token: string
}

export type ServedPlace =
  | { readonly kind: 'Socket'; readonly path: string }
  /** Port 0 lets the system choose. */
  | { readonly kind: 'Https'; readonly host: string; readonly port: number; readonly keys: ServingKeys }

export interface ServeTools {
  readonly clock: Clock
  readonly log: Logger
}

export interface ServedProviders {
  /** A path, or an https address. */
  readonly at: string
  /** New connections use these keys; the old token is refused at once. */
  renew(keys: ServingKeys): void
  close(): Promise<void>
}

const MOST_CONNECTIONS = 64
const MOST_AT_ONCE = 128
const BODY_WITHIN_MS = 30_000

/** One provider at the root of its place. */
export const serveProvider = (provider: Provider, at: ServedPlace, tools: ServeTools): Promise<ServedProviders> =>
  serve(new Map([['', provider]]), at, tools)

/** Each below `/NAME`. */
export const serveProviders = (
  providers: readonly Provider[],
  at: Extract<ServedPlace, { readonly kind: 'Https' }>,
  tools: ServeTools,
): Promise<ServedProviders> => serve(new Map(providers.map((p) => [`/${p.name}`, p])), at, tools)

async function serve(
  providers: ReadonlyMap<string, Provider>,
  at: ServedPlace,
  tools: ServeTools,
): Promise<ServedProviders> {
  const handlers = new Map([...providers].map(([base, provider]) => [base, new ProviderHandler(provider, tools)]))
  const stop = new AbortController()
  const state = { keys: at.kind === 'Https' ? at.keys : undefined, busy: 0, signal: stop.signal }
  const limits = { requestTimeout: BODY_WITHIN_MS, headersTimeout: 2 * SILENT_MS, keepAliveTimeout: 60_000 }
  const onRequest = (request: IncomingMessage, response: ServerResponse) =>
    void answerTo(request, response, { handlers, state, tools })
  const tls =
    at.kind === 'Https'
      ? createTlsServer({ ...limits, cert: at.keys.cert, key: at.keys.key, minVersion: 'TLSv1.2' }, onRequest)
      : undefined
  const server = tls ?? nodeHttp.createServer(limits, onRequest)
  // Socket connections have no addresses to distinguish, and only one user.
  if (at.kind === 'Socket') server.maxConnections = MOST_CONNECTIONS
  // With Node's own limit on top, the newcomer would be dropped before it is compared with the existing ones.
  else boundConnections(server, { most: MOST_CONNECTIONS, longestRequestMs: LONGEST_DEADLINE_MS, ...tools })
  const names = [...providers.values()].map((p) => p.name).join(', ')
  await listen(server, at).catch((cause: unknown) => {
    const place = at.kind === 'Socket' ? at.path : `${at.host}:${at.port}`
    throw new KubeNodeError(providersErrors.KN1206_place({ name: names, place, why: messageOf(cause) }), { cause })
  })
  const following = [...handlers.values()].map((h) => h.follow(stop.signal))
  return {
    at: at.kind === 'Socket' ? at.path : urlOf(at.host, (server.address() as AddressInfo).port),
    renew: (keys) => {
      state.keys = keys
      tls?.setSecureContext({ cert: keys.cert, key: keys.key, minVersion: 'TLSv1.2' })
    },
    close: async () => {
      stop.abort()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await Promise.all([closed, ...following])
    },
  }
}

const urlOf = (host: string, port: number): string => `https://${host.includes(':') ? `[${host}]` : host}:${port}`

interface Serving {
  readonly handlers: ReadonlyMap<string, ProviderHandler>
  readonly state: { readonly keys: ServingKeys | undefined; busy: number; readonly signal: AbortSignal }
  readonly tools: ServeTools
}

async function answerTo(request: IncomingMessage, response: ServerResponse, serving: Serving): Promise<void> {
  const { state, tools } = serving
  const ending = new AbortController()
  const end = () => ending.abort()
  response.once('close', end)
  state.signal.addEventListener('abort', end, { once: true })
  const timer = tools.clock.after(deadlineOf(request), end)
  state.busy++
  try {
    const reply = await replyTo(request, serving, ending.signal)
    if (!response.destroyed)
      response
        .writeHead(reply.status, {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(reply.text),
          // The rest of an unread body would be parsed as the next request.
          ...(reply.status === 413 && { connection: 'close' }),
        })
        .end(reply.text)
  } catch {
    response.destroy()
  } finally {
    state.busy--
    timer.cancel()
    state.signal.removeEventListener('abort', end)
  }
}

async function replyTo(request: IncomingMessage, { handlers, state }: Serving, signal: AbortSignal): Promise<Reply> {
  if (state.keys !== undefined && !isToken(request.headers.authorization, state.keys.token)) {
    request.resume()
    return errorReply('Unauthorized', 'send the bearer token of this provider')
  }
  if (state.busy > MOST_AT_ONCE) {
    request.resume()
    return errorReply('Busy', `${MOST_AT_ONCE} requests are being answered`)
  }
  const url = request.url ?? '/'
  const base = handlers.has('') ? '' : (/^\/[a-z0-9-]+/.exec(url)?.[0] ?? '')
  const handler = handlers.get(base)
  try {
    const body = await bodyOf(request)
    if (handler === undefined) return errorReply('NotServed', 'no provider of this name is served')
    const asked = { method: request.method ?? '', path: url.slice(base.length), body, signal }
    // Do not wait for a provider that ignores its signal.
    return await Promise.race([handler.reply(asked), aborted(signal)])
  } catch (error) {
    if (error instanceof ProtocolError) return errorReply(error.kind, error.message)
    throw error
  }
}

const aborted = (signal: AbortSignal): Promise<Reply> =>
  new Promise((resolve) => {
    const end = () => resolve(errorReply('TooSlow', 'the deadline passed'))
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > MAX_BODY_BYTES) throw new ProtocolError('TooLarge', 'the body is larger than 4 MiB')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function deadlineOf({ headers }: IncomingMessage): number {
  const deadline = headers[DEADLINE_HEADER]
  if (typeof deadline !== 'string' || !/^\d{1,7}$/.test(deadline)) return Math.max(USUAL_DEADLINE_MS, EVENTS_WAIT_MS)
  return Math.min(LONGEST_DEADLINE_MS, Math.max(1, Number(deadline)))
}

const isToken = (header: string | undefined, token: string): boolean =>
  token !== '' && timingSafeEqual(sha256(header ?? ''), sha256(`Bearer ${token}`))

const OWN_ONLY = 0o177

async function listen(server: Server | TlsServer, at: ServedPlace): Promise<void> {
  if (at.kind === 'Socket') await removeLeftSocket(at.path)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    const listening = () => {
      server.off('error', reject)
      resolve()
    }
    if (at.kind === 'Https') {
      server.listen(at.port, at.host, listening)
      return
    }
    // This call creates the socket at once, with the mode that the umask leaves.
    const before = umask(OWN_ONLY)
    try {
      server.listen(at.path, listening)
    } finally {
      umask(before)
    }
  })
}

/** Left by a killed program. A socket that still answers stays, and nothing but a socket is removed. */
async function removeLeftSocket(path: string): Promise<void> {
  const seen = lstatSync(path, { throwIfNoEntry: false })
  if (seen === undefined) return
  if (!seen.isSocket()) throw new Error('there is something else than a socket')
  const isServed = await new Promise<boolean>((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
  if (isServed) throw new Error('another program serves there')
  rmSync(path, { force: true })
}
