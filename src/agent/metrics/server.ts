// Serves /metrics, and nothing else, on the node's loopback address. A failure here never stops the agent from starting.
import type http from 'node:http'
import type { Clock } from '#lib/clock.ts'
import { boundConnections } from '#lib/connection-bound.ts'
import { isOwnHost } from '#lib/host-header.ts'
import type { Logger } from '#lib/log.ts'
import { nodeHttp } from '#lib/node-http.ts'

export interface MetricsServerOptions {
  readonly address: string
  readonly port: number
  readonly log: Logger
  readonly clock: Clock
  readonly text: () => string
}

/** A real scraper sends one request every few seconds. */
const MAX_CONNECTIONS = 8
const TIMEOUT_MS = 10_000
const MAX_HEADERS = 4_096

const LOOPBACK = /^(127(\.\d{1,3}){3}|::1)$/

export class MetricsServer {
  readonly #o: MetricsServerOptions
  #server: http.Server | undefined

  constructor(options: MetricsServerOptions) {
    this.#o = options
  }

  /** Undefined while the server does not listen. */
  get port(): number | undefined {
    const at = this.#server?.address()
    return typeof at === 'object' && at !== null ? at.port : undefined
  }

  async start(): Promise<void> {
    const { address, port, log, clock } = this.#o
    if (!LOOPBACK.test(address)) {
      log.warn('metrics are not served: the address is not a loopback address', { address })
      return
    }
    const server = nodeHttp.createServer(
      { maxHeaderSize: MAX_HEADERS, requestTimeout: TIMEOUT_MS },
      (request, response) => this.#answer(request, response),
    )
    // A local user's idle connections must not block a scraper.
    boundConnections(server, { most: MAX_CONNECTIONS, longestRequestMs: TIMEOUT_MS, clock, log })
    server.unref()
    await new Promise<void>((resolve) => {
      server.once('error', (error) => {
        log.warn('metrics are not served', { address, port, error })
        resolve()
      })
      server.listen(port, address, () => {
        this.#server = server
        resolve()
      })
    })
  }

  close(): void {
    this.#server?.close()
    this.#server?.closeAllConnections()
    this.#server = undefined
  }

  #answer(request: http.IncomingMessage, response: http.ServerResponse): void {
    const status = statusOf(request)
    response.writeHead(status, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' })
    response.end(status === 200 ? this.#o.text() : 'only GET /metrics of localhost\n')
  }
}

function statusOf({ method, url, headers, socket }: http.IncomingMessage): number {
  if (!isOwnHost(headers.host, socket.localAddress)) return 421
  if (method !== 'GET') return 405
  return url?.split('?')[0] === '/metrics' ? 200 : 404
}
