// Sends one request over one socket and returns its response: deadlines, credentials, and what a broken connection means for a write.
import { randomUUID } from 'node:crypto'
import type http from 'node:http'
import https from 'node:https'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { nodeHttp } from '#lib/node-http.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import { ConnectionError } from '../errors.ts'
import { parseServer, type ConnectionConfig } from './connection.ts'
import { Credentials, type Loaded } from './credentials.ts'
import { Deadline } from './deadline.ts'
import { RequestLanes, type Lane } from './request-lanes.ts'
import { Patience } from './patience.ts'
import { kubeErrors } from '../kube-errors.ts'

export interface Timeouts {
  /** TCP and TLS. */
  readonly connectMs: number
  /** Until the first byte of the response, and between any two bytes of it. */
  readonly idleMs: number
  /** The whole request, once it has its turn. */
  readonly wholeMs: number
}

export const defaultTimeouts: Timeouts = { connectMs: 10_000, idleMs: 30_000, wholeMs: 60_000 }

/** Connect time is counted in ticks: a process that was stopped or starved loses one tick instead of blaming the server. */
const CONNECT_TICKS = 10

export interface Manners {
  readonly userAgent: string
  readonly atOnce?: number | undefined
  readonly patienceMs?: number | undefined
}

export interface WireRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly lane: Lane
  /** For messages: "cannot update machines.kubenode.io/m-1". */
  readonly what: string
  readonly signal: AbortSignal | undefined
  readonly timeoutMs: number | undefined
  /** The credentials it was last sent with. */
  used?: Loaded
}

export interface WireResponse {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly requestId: string
  readonly body: http.IncomingMessage
  readonly state: Progress
}

/** The state of one exchange in progress. */
export interface Progress {
  /** The server may have read the request. */
  sent: boolean
  /** The socket is free for others, or closed. */
  over: boolean
  /** Why this side ended the exchange, if it did: the socket's own error is then meaningless. */
  cutBy: unknown
  /** Stops the deadlines and releases the turn. Must be called once the body is read or abandoned. */
  end: () => void
}

/** Complete responses are held in memory. V8 refuses strings beyond 512 MB; list pages have a few megabytes. */
const MAX_BODY_LENGTH = 256 * 1024 * 1024
const WATCH_KEEPALIVE_MS = 15_000
/** All other refusals are reported as: no configured CA signed the certificate. */
const TLS_ERRORS: Readonly<Record<string, typeof kubeErrors.KN2004>> = {
  CERT_HAS_EXPIRED: kubeErrors.KN2003,
  CERT_NOT_YET_VALID: kubeErrors.KN1408_notYetValid,
  ERR_TLS_CERT_ALTNAME_INVALID: kubeErrors.KN2008,
}
const TLS_CODES: ReadonlySet<string> = new Set([kubeErrors.KN2004, ...Object.values(TLS_ERRORS)].map((e) => e.code))
const TLS_REFUSALS = /CERT|SELF_SIGNED|UNABLE_TO|DEPTH_ZERO|ALTNAME|HOSTNAME/

export class Transport {
  readonly #url: URL
  readonly #prefix: string
  readonly #config: ConnectionConfig
  readonly #clock: Clock
  readonly #timeouts: Timeouts
  readonly #lanes: RequestLanes
  readonly #patience: Patience
  readonly #userAgent: string
  readonly credentials: Credentials

  constructor(config: ConnectionConfig, clock: Clock, timeouts: Timeouts, manners: Manners) {
    this.#url = parseServer(config)
    this.#prefix = withoutEnd(this.#url.pathname, /\//)
    this.#config = config
    this.#clock = clock
    this.#timeouts = timeouts
    this.#userAgent = manners.userAgent
    this.#patience = new Patience(clock, manners.patienceMs ?? 0)
    this.credentials = new Credentials(config, clock)
    this.#lanes = new RequestLanes({
      isTls: this.#url.protocol === 'https:',
      tlsServerName: config.tlsServerName,
      insecureSkipTlsVerify: config.insecureSkipTlsVerify === true,
      proxy: config.proxy,
      atOnce: manners.atOnce ?? Number.POSITIVE_INFINITY,
    })
  }

  rest(): void {
    this.#lanes.rest()
  }

  close(): void {
    this.#lanes.close()
  }

  async send(request: WireRequest): Promise<WireResponse> {
    const state: Progress = { sent: false, over: false, cutBy: undefined, end: () => undefined }
    const applied = () => (state.sent ? appliedBy(request) : 'no')
    // A caller's deadline counts from now; the default one from the request's turn, or a long queue would kill its own tail.
    const asked = new Deadline(this.#clock, request.timeoutMs, request.signal, () =>
      timedOut(request, 'no complete response', request.timeoutMs ?? 0, applied()),
    )
    state.end = asked.end.bind(asked)
    try {
      const giveBack = await this.#lanes.turn(request.lane, asked.signal)
      state.end = () => {
        asked.end()
        giveBack()
      }
      const used = await orAborted(this.credentials.current(), asked.signal)
      const { tls, token } = used
      request.used = used
      if (request.lane !== 'watch') {
        const free = await this.#patience.turn(() => this.#lanes.isOneFree(tls), asked.signal)
        state.end = () => {
          asked.end()
          giveBack()
          free()
        }
      }
      return await this.#exchange(request, this.#lanes.sockets(tls), token, asked.signal, state)
    } catch (e) {
      state.end()
      throw e
    }
  }

  #headers(request: WireRequest, token: string | undefined, requestId: string): http.OutgoingHttpHeaders {
    const { impersonate } = this.#config
    return {
      accept: 'application/json',
      'user-agent': this.#userAgent,
      'audit-id': requestId,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(impersonate === undefined ? {} : { 'impersonate-user': impersonate.user }),
      ...(impersonate?.groups === undefined ? {} : { 'impersonate-group': [...impersonate.groups] }),
      ...(request.body === undefined ? {} : { 'content-length': String(Buffer.byteLength(request.body)) }),
      ...request.headers,
    }
  }

  #exchange(
    request: WireRequest,
    agent: http.Agent,
    token: string | undefined,
    signal: AbortSignal,
    state: Progress,
  ): Promise<WireResponse> {
    const requestId = randomUUID()
    const isWatch = request.lane === 'watch'
    return new Promise((resolve, reject) => {
      const req = this.#open(request, agent, this.#headers(request, token, requestId))
      const cut = (why: unknown) => {
        state.cutBy ??= why
        req.destroy(why instanceof Error ? why : new Error(messageOf(why)))
      }
      const { wholeMs } = this.#timeouts
      const whole = new Deadline(
        this.#clock,
        isWatch || request.timeoutMs !== undefined ? undefined : wholeMs,
        signal,
        () => timedOut(request, 'no complete response', wholeMs, appliedBy(request)),
      )
      const settle = state.end
      const connecting = this.#watchConnecting(request, req, cut, state)
      state.end = () => {
        whole.end()
        connecting.cancel()
        settle()
      }
      if (whole.signal.aborted) cut(whole.signal.reason)
      else whole.signal.addEventListener('abort', () => cut(whole.signal.reason), { once: true })
      req.setTimeout(this.#timeouts.idleMs, () => {
        if (state.sent) cut(timedOut(request, 'no data', this.#timeouts.idleMs, appliedBy(request)))
      })
      req.on('error', (e) => reject(reasonOf(request, state, e)))
      let isAnswered = false
      // Some connections end without an error, such as after a response in another protocol.
      req.on('close', () => {
        state.over = true
        if (!isAnswered) reject(reasonOf(request, state, new Error('the connection closed without a response')))
      })
      req.on('response', (body) => {
        isAnswered = true
        // A watch's reader decides how long it may be silent.
        if (isWatch) req.setTimeout(0)
        const { statusCode = 0, headers } = body
        resolve({ status: statusCode, headers, requestId: headerOf(headers, 'audit-id') ?? requestId, body, state })
      })
      req.end(request.body)
    })
  }

  #open(request: WireRequest, agent: http.Agent, headers: http.OutgoingHttpHeaders): http.ClientRequest {
    const send = this.#url.protocol === 'https:' ? https.request : nodeHttp.request
    return send({
      host: this.#url.hostname.replaceAll(/^\[|\]$/g, ''),
      port: this.#url.port === '' ? undefined : Number(this.#url.port),
      path: `${this.#prefix}${request.path}`,
      method: request.method,
      headers,
      agent,
    })
  }

  /** Once TCP and TLS are up, the server may have read the request; before that, it certainly has not. */
  #watchConnecting(
    request: WireRequest,
    req: http.ClientRequest,
    cut: (why: unknown) => void,
    state: Progress,
  ): { cancel(): void } {
    const { connectMs } = this.#timeouts
    const tick = connectMs / CONNECT_TICKS
    let left = CONNECT_TICKS
    const onTick = (): void => {
      if (state.sent) return
      left--
      if (left === 0) cut(timedOut(request, 'no connection', connectMs, 'no'))
      else timer = this.#clock.after(tick, onTick)
    }
    let timer = this.#clock.after(tick, onTick)
    const cancel = (): void => timer.cancel()
    const onConnected = () => {
      state.sent = true
      cancel()
    }
    req.on('socket', (socket) => {
      if (request.lane === 'watch') socket.setKeepAlive(true, WATCH_KEEPALIVE_MS)
      if (req.reusedSocket) onConnected()
      else socket.once(this.#url.protocol === 'https:' ? 'secureConnect' : 'connect', onConnected)
    })
    return { cancel }
  }
}

/** Reading the credentials continues, for later requests. */
function orAborted<T>(reading: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason)
  const aborted = Promise.withResolvers<never>()
  const onAbort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  return Promise.race([reading, aborted.promise]).finally(() => signal.removeEventListener('abort', onAbort))
}

const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD'
const appliedBy = (request: WireRequest): 'no' | 'unknown' => (isRead(request.method) ? 'no' : 'unknown')

const timedOut = (request: WireRequest, what: string, ms: number, applied: 'no' | 'unknown') =>
  new ConnectionError(kubeErrors.KN2001_timeout({ what: request.what, missing: what, ms }), applied)

/** The error that the caller of a broken exchange gets. */
export function reasonOf(request: WireRequest, state: Progress, error: unknown): unknown {
  if (request.signal?.aborted) return request.signal.reason
  if (state.cutBy !== undefined) return state.cutBy
  return error instanceof KubeNodeError ? error : brokenBy(request, error, state.sent)
}

function brokenBy(request: WireRequest, error: unknown, connected: boolean): ConnectionError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const isTls = !connected && TLS_REFUSALS.test(code)
  const detail = { action: request.what, why: code === '' ? messageOf(error) : `${code}${placeIn(error)}` }
  const numbered = isTls ? refusedServer(code) : kubeErrors.KN2001
  return new ConnectionError(numbered(detail), connected ? appliedBy(request) : 'no', error)
}

/** Before the server sees the client's certificate. */
const refusedServer = (code: string) => TLS_ERRORS[code] ?? kubeErrors.KN2004

/** The attempted address, if the error has it: with several contexts users need to know which server is unavailable. */
function placeIn(error: unknown): string {
  // A name with several addresses fails with one error for each.
  const [one] = error instanceof AggregateError ? error.errors : [error]
  if (!(one instanceof Error)) return ''
  const { address, port, hostname } = one as { address?: unknown; port?: unknown; hostname?: unknown }
  if (typeof address === 'string' && typeof port === 'number')
    return ` ${address.includes(':') ? `[${address}]` : address}:${port}`
  return typeof hostname === 'string' ? ` ${hostname}` : ''
}

/** This client's check of the server's certificate refused the connection: nothing was sent. */
export const isTlsRefusal = (e: unknown): boolean => e instanceof ConnectionError && TLS_CODES.has(e.code)

/** No other kubeconfig helps. */
export const isExpiredServer = (e: unknown): boolean =>
  e instanceof ConnectionError && (e.code === kubeErrors.KN2003.code || e.code === kubeErrors.KN1408_notYetValid.code)

export function headerOf(headers: http.IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** The whole body as text. A truncated body is a lost connection, never a short response. */
export async function bodyText(
  request: WireRequest,
  response: WireResponse,
  maxBodyLength = MAX_BODY_LENGTH,
): Promise<string> {
  // Decode while reading: collecting and joining buffers would hold every page three times.
  let text = ''
  response.body.setEncoding('utf8')
  let size = 0
  try {
    for await (const chunk of response.body as AsyncIterable<string>) {
      size += chunk.length
      if (size > maxBodyLength)
        throw new ConnectionError(kubeErrors.KN2005({ what: request.what, maxBodyLength }), appliedBy(request))
      text += chunk
    }
    // A response may arrive before the write of its request is confirmed, and the socket is busy until then: the next request would open another one.
    if (!response.state.over) await setImmediate()
  } catch (e) {
    throw reasonOf(request, response.state, e)
  } finally {
    response.state.end()
  }
  return text
}
