// Serves /metrics on a pod's or node's address over HTTPS to scrapers that the API server authorizes. Its certificate comes from files, from the caller, or from a
// Secret shared by all replicas of the role, with an authority that Prometheus verifies against.
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '#lib/clock.ts'
import { boundConnections, SILENT_MS } from '#lib/connection-bound.ts'
import { RepeatedLine } from '#lib/repeated-line.ts'
import { holderOf } from '#lib/x509/holder.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import type { MetricsText } from './http.ts'
import { RepeatedCheck } from './repeated-check.ts'
import type { Part } from './manager.ts'
import { type Access, MetricsAccess, type ReadRight, type Scraper } from './metrics-access.ts'
import { runtimeErrors } from './runtime-errors.ts'
import { KnownSince } from './tls/known-since.ts'
import { certificateData, certificateIn, rotated } from './tls/serving-certificate.ts'
import { readSecret, type SecretKey, writeSecret } from './tls/shared-secret.ts'

export interface KeyFiles {
  readonly cert: string
  readonly key: string
}

/** The installer creates the Secret: a program with the right to create Secrets could mint a token for another account. */
export interface KeySecret {
  readonly secret: SecretKey
  /** The name that scrapers verify. */
  readonly serverName: string
}

/** Asked again every minute: the caller keeps the pair and renews it. */
export interface KeySource {
  readonly pair: () => Promise<Pair>
}

export interface MetricsServerOptions {
  readonly metrics: MetricsText
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  readonly keys: KeyFiles | KeySecret | KeySource
  /** Left out: the right to GET /metrics. */
  readonly right?: ReadRight
  /** PEM: clients with a certificate of this authority need no token. */
  readonly clientCa?: string
}

/** A scrape includes two reviews by the API server. */
const REQUEST_TIMEOUT_MS = 15_000
const MOST_CONNECTIONS = 32
/** Files and Secrets are replaced weeks before a certificate expires. */
const KEYS_MS = 60_000
const RETRY_MS = 5_000

export interface Pair {
  readonly cert: string
  readonly key: string
}

export class MetricsServer implements Part {
  readonly name = 'metrics'
  readonly #options: MetricsServerOptions
  readonly #access: MetricsAccess
  readonly #known: KnownSince
  readonly #reload: RepeatedCheck
  readonly #trouble: RepeatedLine
  #server: Server | undefined
  #pair: Pair | undefined

  constructor(options: MetricsServerOptions) {
    this.#options = options
    this.#access = new MetricsAccess(options)
    this.#known = new KnownSince(options.clock)
    this.#reload = new RepeatedCheck(options.clock)
    this.#trouble = new RepeatedLine(options.clock)
  }

  /** The port in use; undefined while not listening. */
  get port(): number | undefined {
    return (this.#server?.address() as AddressInfo | null | undefined)?.port
  }

  /** Metrics must not stop the role: a failure to serve them is logged and retried. Only an address in use is fatal. */
  async start(): Promise<void> {
    await this.check()
    const { log } = this.#options
    this.#reload.start(
      () => (this.#pair === undefined ? RETRY_MS : KEYS_MS),
      () => this.check().catch((e: unknown) => log.error('cannot serve metrics', { error: messageOf(e) })),
    )
  }

  async stop(): Promise<void> {
    await this.#reload.stop()
    const server = this.#server
    if (server === undefined) return
    await new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }

  /** Serves with the current keys. */
  async check(): Promise<void> {
    const { log } = this.#options
    let pair: Pair
    try {
      pair = await this.#keys()
    } catch (e) {
      const due = this.#trouble.due(messageOf(e))
      if (due !== undefined) log.error('cannot read the certificate of the metrics', { error: messageOf(e), ...due })
      return
    }
    this.#trouble.ended()
    if (this.#server === undefined) {
      this.#server = await this.#listen(pair)
      log.info('serving metrics', { port: this.port })
    } else if (pair.cert !== this.#pair?.cert) this.#server.setSecureContext({ ...pair, ...this.#clients() })
    this.#pair = pair
  }

  async #keys(): Promise<Pair> {
    const { keys } = this.#options
    if ('secret' in keys) return this.#shared(keys)
    if ('pair' in keys) return keys.pair()
    const [cert, key] = await Promise.all([readFile(keys.cert, 'utf8'), readFile(keys.key, 'utf8')])
    return { cert, key }
  }

  /** Any replica takes the next step: the Secret is only written over the version that was read. */
  async #shared({ secret, serverName }: KeySecret): Promise<Pair> {
    const { client, clock } = this.#options
    const found = await readSecret(client, secret)
    if (found.object === undefined) throw new KubeNodeError(runtimeErrors.KN3031({ ...secret }))
    const before = certificateIn(found.data)
    this.#known.observe(
      [before?.next?.ca, before?.previousCa === undefined ? undefined : `previous ${before.previousCa}`].filter(
        (k) => k !== undefined,
      ),
    )
    const after = rotated(before, {
      commonName: 'kubenode-metrics',
      hosts: [serverName],
      now: clock.now(),
      trustedMs: (ca) => this.#known.ms(ca),
      keptMs: (ca) => this.#known.ms(`previous ${ca}`),
    })
    if (after === before || (await writeSecret(client, secret, found, certificateData(after)))) return after.current
    throw new KubeNodeError(runtimeErrors.KN3001_metricsSecret({ ...secret }), { retry: 'later' })
  }

  #clients() {
    const { clientCa } = this.#options
    return {
      minVersion: 'TLSv1.2' as const,
      ...(clientCa !== undefined && { ca: clientCa, requestCert: true, rejectUnauthorized: false }),
    }
  }

  async #listen(pair: Pair): Promise<Server> {
    const { host, port, clock, log } = this.#options
    const limits = { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: SILENT_MS, handshakeTimeout: SILENT_MS }
    const server = createServer({ ...pair, ...this.#clients(), ...limits }, (request, response) => {
      this.#answer(request, response).catch(() => response.destroy())
    })
    boundConnections(server, { most: MOST_CONNECTIONS, longestRequestMs: REQUEST_TIMEOUT_MS, clock, log })
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause) =>
        reject(new KubeNodeError(runtimeErrors.KN1206_metrics({ host, port, why: cause.message }), { cause })),
      )
      server.listen(port, host, resolve)
    })
    return server
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { metrics } = this.#options
    const plain = (status: number, body: string, headers: Readonly<Record<string, string>> = {}): void => {
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(`${body}\n`)
    }
    if ((request.url ?? '/').split('?', 1)[0] !== '/metrics') return plain(404, 'not found; available: /metrics')
    if (request.method !== 'GET') return plain(405, 'method not allowed; use GET')
    switch (await this.#accessOf(request)) {
      case 'Unauthenticated':
        return plain(401, 'send a bearer token that the API server knows', { 'www-authenticate': 'Bearer' })
      case 'Denied':
        return plain(403, 'this user may not get these metrics; bind it to the ClusterRole kubenode-metrics-reader')
      case 'Unknown':
        return plain(503, 'cannot ask the API server who this is; try again', { 'retry-after': '5' })
      case 'Allowed':
        response.writeHead(200, { 'content-type': metrics.contentType }).end(await metrics.metrics())
    }
  }

  #accessOf(request: IncomingMessage): Promise<Access> {
    const [, token] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
    if (token !== undefined) return this.#access.ofToken(token)
    const user = this.#options.clientCa === undefined ? undefined : userOf(request.socket as TLSSocket)
    return user === undefined ? Promise.resolve('Unauthenticated') : this.#access.ofUser(user)
  }
}

/** As API servers read a client certificate: the common name is the user, the organizations are its groups. */
function userOf(socket: TLSSocket): Scraper | undefined {
  const certificate = socket.authorized ? socket.getPeerX509Certificate?.() : undefined
  const holder = certificate instanceof X509Certificate ? holderOf(certificate) : undefined
  if (holder === undefined || holder.commonName === '') return undefined
  return { username: holder.commonName, groups: [...holder.organizations, 'system:authenticated'] }
}
