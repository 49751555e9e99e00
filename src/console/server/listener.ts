// The console's socket: plain HTTP on loopback, else HTTP/2 (and HTTP/1.1) over TLS with a certificate that may change at run time.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { boundConnections } from '#lib/connection-bound.ts'
import type { Logger } from '#lib/log.ts'
import { nodeHttp } from '#lib/node-http.ts'
import { RepeatedCheck } from '#runtime/repeated-check.ts'
import { consoleErrors } from './console-errors.ts'

export interface Pair {
  readonly cert: string
  readonly key: string
}

export interface Tls {
  /** Reads the current files. */
  readonly pair: () => Promise<Pair>
  /** PEM: only clients with a certificate from this CA may connect. */
  readonly clientCa?: string
}

export interface ListenerOptions {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  readonly tls?: Tls | undefined
  /** Limit of open connections, if not the default. */
  readonly connections?: number | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void
}

/** Browsers of 500 users, each with its stream and some queries. */
const MOST_CONNECTIONS = 2_000
/** A stream lasts as long as its page. */
const LONGEST_MS = Number.POSITIVE_INFINITY
/** A page has one stream and a few queries. */
const MOST_OF_CONNECTION = 64
const REQUEST_TIMEOUT_MS = 30_000
const SILENT_MS = 10_000
/** An HTTP/2 connection without requests: event streams send something every 15 seconds. */
const IDLE_MS = 120_000
const MOST_HEADERS = 32 * 1024
/** A mounted Secret is up to date within two minutes. */
const FOLLOW_MS = 60_000
const LOOPBACK_6 = '::1'
/** Retries for free ports that another program has on `::1` only. */
const MOST_TRIES = 20

export class Listener {
  readonly #options: ListenerOptions
  readonly #reloads: RepeatedCheck
  readonly #sockets = new Set<Socket>()
  readonly #servers: Server[] = []
  #renew: (pair: Pair) => void = () => undefined
  #pair: Pair | undefined

  constructor(options: ListenerOptions) {
    this.#options = options
    this.#reloads = new RepeatedCheck(options.clock)
  }

  get port(): number {
    return (this.#servers[0]?.address() as AddressInfo | null | undefined)?.port ?? 0
  }

  async start(): Promise<void> {
    const { host, port, tls } = this.#options
    if (tls === undefined) return this.#startOnLoopback()
    await this.#listen(await this.#secure(tls), host, port)
    this.#reloads.start(
      () => FOLLOW_MS,
      () => this.reload(),
    )
    return undefined
  }

  async stop(): Promise<void> {
    await this.#reloads.stop()
    const closed = this.#servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())))
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all(closed)
  }

  /** Browsers try `::1` first for a name of this machine: another user listening there on the same port would get the links and cookies. */
  async #startOnLoopback(): Promise<void> {
    const { host, port } = this.#options
    for (let tries = 1; ; tries++) {
      await this.#listen(this.#plain(), host, port)
      try {
        return await this.#listen(this.#plain(), LOOPBACK_6, this.port)
      } catch (e) {
        // Without IPv6 other users cannot listen there either.
        if (hasNoAddress(e)) return undefined
        await this.stop()
        this.#servers.length = 0
        if (port !== 0 || tries === MOST_TRIES) throw e
      }
    }
  }

  async #listen(server: Server, host: string, port: number): Promise<void> {
    const { log, connections: most = MOST_CONNECTIONS } = this.#options
    // Handshakes take real time, like Node's own time limits, whatever clock the views use.
    boundConnections(server, {
      most,
      longestRequestMs: LONGEST_MS,
      silentMs: SILENT_MS,
      shares: true,
      clock: systemClock,
      log,
    })
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause) =>
        reject(new KubeNodeError(consoleErrors.KN1206_console({ host, port, why: cause.message }), { cause })),
      )
      server.listen(port, host, () => resolve())
    })
    this.#servers.push(server)
  }

  /** The current certificate stays in use until there is a valid one. */
  async reload(): Promise<void> {
    const { log, tls } = this.#options
    try {
      const pair = await tls?.pair()
      if (pair === undefined || (pair.cert === this.#pair?.cert && pair.key === this.#pair.key)) return
      this.#renew(pair)
      this.#pair = pair
      log.info('the console is served with a new certificate')
    } catch (e) {
      log.error('cannot renew the certificate of the console', { error: messageOf(e) })
    }
  }

  #plain(): Server {
    return nodeHttp.createServer(
      { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: SILENT_MS, maxHeaderSize: MOST_HEADERS },
      this.#options.onRequest,
    )
  }

  async #secure({ pair: read, clientCa }: Tls): Promise<Server> {
    this.#pair = await read()
    const clients = {
      minVersion: 'TLSv1.2' as const,
      ...(clientCa !== undefined && { ca: clientCa, requestCert: true, rejectUnauthorized: true }),
    }
    const server = createSecureServer({
      ...this.#pair,
      ...clients,
      allowHTTP1: true,
      handshakeTimeout: SILENT_MS,
      settings: { maxConcurrentStreams: MOST_OF_CONNECTION, maxHeaderListSize: MOST_HEADERS, enablePush: false },
    })
    this.#renew = (pair) => server.setSecureContext({ ...pair, ...clients })
    server.on('session', (session) => session.setTimeout(IDLE_MS, () => session.close()))
    server.on('tlsClientError', (_, socket) => socket.destroy())
    // HTTP/2 request classes are compatible with HTTP/1.1's, which half of the requests here use.
    const same = server as unknown as Server
    same.requestTimeout = REQUEST_TIMEOUT_MS
    same.headersTimeout = SILENT_MS
    same.on('request', this.#options.onRequest)
    return same
  }
}

const hasNoAddress = (error: unknown): boolean => {
  const code = error instanceof KubeNodeError ? (error.cause as NodeJS.ErrnoException | undefined)?.code : undefined
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT'
}
