// The socket of the console: plain HTTP on loopback, else HTTP/2 (and HTTP/1.1) over TLS with a certificate that changes while it runs.
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
  /** As the files are now. */
  readonly pair: () => Promise<Pair>
  /** PEM: only clients with a certificate of this authority are let in. */
  readonly clientCa?: string
}

export interface ListenerOptions {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  readonly tls?: Tls | undefined
  /** How many are open at once, if not as many as always. */
  readonly connections?: number | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void
}

/** Browsers of 500 people, each with its stream and some questions. */
const MOST_CONNECTIONS = 2_000
/** A stream ends with its page. */
const LONGEST_MS = Number.POSITIVE_INFINITY
/** A page has one stream and a few questions. */
const MOST_OF_CONNECTION = 64
const REQUEST_TIMEOUT_MS = 30_000
const SILENT_MS = 10_000
/** A connection of HTTP/2 without a request: its streams of events send something every 15 seconds. */
const IDLE_MS = 120_000
const MOST_HEADERS = 32 * 1024
/** A mounted Secret follows within two minutes. */
const FOLLOW_MS = 60_000
const LOOPBACK_6 = '::1'
/** Free ports that another program has at `::1` alone. */
const MOST_TRIES = 20

export class Listener {
  readonly #options: ListenerOptions
  readonly #looking: RepeatedCheck
  readonly #sockets = new Set<Socket>()
  readonly #servers: Server[] = []
  #renew: (pair: Pair) => void = () => undefined
  #pair: Pair | undefined

  constructor(options: ListenerOptions) {
    this.#options = options
    this.#looking = new RepeatedCheck(options.clock)
  }

  get port(): number {
    return (this.#servers[0]?.address() as AddressInfo | null | undefined)?.port ?? 0
  }

  async start(): Promise<void> {
    const { host, port, tls } = this.#options
    if (tls === undefined) return this.#startOnLoopback()
    await this.#listen(await this.#secure(tls), host, port)
    this.#looking.start(
      () => FOLLOW_MS,
      () => this.look(),
    )
    return undefined
  }

  async stop(): Promise<void> {
    await this.#looking.stop()
    const closed = this.#servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())))
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all(closed)
  }

  /** Browsers try a name of this machine at `::1` first: another user who listened there at the same port would get the links and the cookies. */
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
    // Handshakes take real time, as for the time limits of Node, whatever the clock of the views is.
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

  /** The certificate in use stays until there is a good one. */
  async look(): Promise<void> {
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
    // Requests of HTTP/2 come in classes that are compatible with those of HTTP/1.1, which half of them are here.
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
