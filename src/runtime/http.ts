// Serves GET of /healthz, /readyz and, if configured, /metrics, and nothing else. Listens on loopback by default and answers only requests that name this
// server. Kubelet probes a pod's address and puts it into the Host header, which is then the address that the request arrives at.
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '#lib/system-clock.ts'
import { boundConnections, SILENT_MS } from '#lib/connection-bound.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { isOwnHost } from '#lib/host-header.ts'
import type { Logger } from '#lib/log.ts'
import { nodeHttp } from '#lib/node-http.ts'
import { type Health, type HealthReport, healthText } from './health.ts'
import { runtimeErrors } from './runtime-errors.ts'

/** The text of all metrics and its content type, as from a prom-client Registry. */
export interface MetricsText {
  metrics(): Promise<string>
  readonly contentType: string
}

export interface StatusHttpOptions {
  /** Left out where only metrics are served. */
  readonly health?: Health
  /** Left out on addresses that others reach: metrics reveal details of the cluster. */
  readonly metrics?: MetricsText
  readonly log: Logger
  readonly host?: string
  /** More names that scrapers use for it. */
  readonly names?: readonly string[]
  /** 0 lets the system choose. */
  readonly port: number
}

export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

const TEXT = 'text/plain; charset=utf-8'
/** A slower scraper loses its connection. */
const REQUEST_TIMEOUT_MS = 10_000
/** An answer is ready at once; a client that does not read it must not occupy a connection. */
const LONGEST_ANSWER_MS = 2_000
/** Enough for a few scrapers and probes. A flood must not exhaust the process's file descriptors. */
const MOST_CONNECTIONS = 32

interface Asked {
  readonly method: string
  readonly url: string
  readonly isOwnHost: boolean
}

export async function answer(
  { method, url, ...asked }: Asked,
  { health, metrics }: Pick<StatusHttpOptions, 'health' | 'metrics'>,
): Promise<Answer> {
  if (!asked.isOwnHost)
    return { status: 421, contentType: TEXT, body: 'the Host header names another server; use localhost\n' }
  if (method !== 'GET') return { status: 405, contentType: TEXT, body: 'method not allowed; use GET\n' }
  const path = url.split('?', 1)[0]
  if (path === '/healthz' && health !== undefined) return healthAnswer(health.live())
  if (path === '/readyz' && health !== undefined) return healthAnswer(health.ready())
  if (path === '/metrics' && metrics !== undefined)
    return { status: 200, contentType: metrics.contentType, body: await metrics.metrics() }
  const available = [
    ...(metrics === undefined ? [] : ['/metrics']),
    ...(health === undefined ? [] : ['/healthz', '/readyz']),
  ]
  return { status: 404, contentType: TEXT, body: `not found; available: ${available.join(', ')}\n` }
}

const healthAnswer = (report: HealthReport): Answer => ({
  status: report.ok ? 200 : 503,
  contentType: TEXT,
  body: healthText(report),
})

export class StatusHttp {
  readonly name = 'http'
  readonly #options: StatusHttpOptions
  readonly #server: Server

  constructor(options: StatusHttpOptions) {
    this.#options = options
    this.#server = nodeHttp.createServer(
      { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: SILENT_MS },
      (request, response) => {
        const { method = '', url = '/', headers, socket } = request
        answer({ method, url, isOwnHost: isOwnHost(headers.host, socket.localAddress, options.names) }, options)
          .catch((error: unknown): Answer => ({ status: 500, contentType: TEXT, body: `${messageOf(error)}\n` }))
          .then(({ status, contentType, body }) =>
            response.writeHead(status, { 'content-type': contentType }).end(body),
          )
          .catch(() => response.destroy())
      },
    )
    // Close the connection after each answer, so that no client occupies one.
    this.#server.maxRequestsPerSocket = 1
    boundConnections(this.#server, {
      most: MOST_CONNECTIONS,
      longestRequestMs: LONGEST_ANSWER_MS,
      clock: systemClock,
      log: options.log,
    })
  }

  /** The port in use; undefined while not listening. */
  get port(): number | undefined {
    const address = this.#server.address() as AddressInfo | null
    return address?.port
  }

  start(): Promise<void> {
    const { host = '127.0.0.1', port } = this.#options
    return new Promise((resolve, reject) => {
      this.#server.once('error', (cause) => {
        reject(new KubeNodeError(runtimeErrors.KN1206_metrics({ host, port, why: cause.message }), { cause }))
      })
      this.#server.listen(port, host, () => resolve())
    })
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }
}
