// The webhook on every replica, leader or not. Serves with the shared certificate and paths, and follows their changes. After a stop request it keeps
// serving until no API server sends reviews here any more.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { formatDuration } from '#lib/duration.ts'
import { RepeatedLine } from '#lib/repeated-line.ts'
import { createValidator } from '#api/validate.ts'
import type { KubeClient } from '#kube/client.ts'
import { RepeatedCheck } from '#runtime/repeated-check.ts'
import type { Part } from '#runtime/manager.ts'
import type { AskGuard } from '../guard/guard.ts'
import type { ServingCertificate } from '#runtime/tls/serving-certificate.ts'
import { readKeys, type WebhookKeys } from './keys.ts'
import type { FindComponent, FindMachine } from './review.ts'
import { acceptedTokens, SecretPaths, SPREAD_MS } from './secret-paths.ts'
import { WebhookServer } from './server.ts'

export interface WebhookService {
  readonly namespace: string
  readonly name: string
}

export interface WebhookOptions {
  /** The address to listen on. */
  readonly listen: string
  /** 0 lets the system choose. */
  readonly port: number
  /** How the API server reaches it: the Service in front of all replicas, or this replica's host. */
  readonly at: WebhookService | { readonly host: string }
  /** PEM: the authority of the API server's client certificate, if it has one. */
  readonly clientCa?: string
  /** Called with the port while the webhook is served there, and with undefined once it is not. */
  readonly announce?: (port: number | undefined) => void
}

export interface ReplicaOptions extends WebhookOptions {
  /** Only reads: on a standby nothing else is permitted. */
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  readonly findComponent: FindComponent
  readonly findMachine: FindMachine
  readonly guard: AskGuard
}

/** API servers use a new path or certificate ten minutes after it is in the Secret. */
const FOLLOW_MS = 10_000
const RETRY_MS = 1_000
/** A replica that may have missed half of a change's time must not get reviews. */
const STALE_MS = SPREAD_MS / 2
/** A Service removes a pod within seconds of its end. Until then, and on open connections, reviews still arrive. */
const GRACE_MS = 10_000

export const isService = (at: WebhookOptions['at']): at is WebhookService => 'name' in at

export class WebhookReplica implements Part {
  readonly name = 'webhook-server'
  readonly #options: ReplicaOptions
  readonly #repeated: RepeatedCheck
  readonly #paths = new SecretPaths()
  #serving: { readonly server: WebhookServer; readonly port: number; certificate: ServingCertificate } | undefined
  #readAt: number | undefined
  #drainingSince: number | undefined
  /** Errors that repeat every second with the same text. */
  readonly #trouble: RepeatedLine

  constructor(options: ReplicaOptions) {
    this.#options = options
    this.#repeated = new RepeatedCheck(options.clock)
    this.#trouble = new RepeatedLine(options.clock)
  }

  /** The port in use. Undefined while not listening. */
  get port(): number | undefined {
    return this.#serving?.port
  }

  /** Why no review may be sent here, or undefined. */
  problem(): string | undefined {
    const { clock } = this.#options
    if (this.#drainingSince !== undefined) return 'shutting down'
    if (this.#serving === undefined || this.#readAt === undefined) return 'not serving yet'
    const age = clock.monotonic() - this.#readAt
    return age > STALE_MS ? `cannot read the webhook's Secret for ${formatDuration(age)}` : undefined
  }

  /** Permits are decided with and without a webhook. A failure to serve it is logged and retried, and stops nothing else. */
  async start(signal?: AbortSignal): Promise<void> {
    signal?.addEventListener('abort', () => this.drain(), { once: true })
    let isGood = await this.reload()
    this.#repeated.start(
      () => (isGood ? FOLLOW_MS : RETRY_MS),
      async () => {
        isGood = await this.reload()
      },
    )
  }

  /** Asks clients to connect elsewhere, but still answers their requests. */
  drain(): void {
    if (this.#drainingSince !== undefined) return
    this.#drainingSince = this.#options.clock.monotonic()
    this.#serving?.server.drain()
  }

  async stop(withinMs = Infinity): Promise<void> {
    const { clock, at } = this.#options
    const stopped = this.#repeated.stop()
    this.drain()
    await stopped
    const graceMs = isService(at) ? Math.min(GRACE_MS, withinMs) : 0
    const leftMs = graceMs - (clock.monotonic() - (this.#drainingSince ?? 0))
    if (this.#serving !== undefined && leftMs > 0) await clock.sleep(leftMs)
    await this.#serving?.server.stop()
    this.#options.announce?.(undefined)
  }

  /** False if there is nothing to serve with, or if serving fails. */
  async reload(): Promise<boolean> {
    const { client, log } = this.#options
    try {
      const keys = await readKeys(client)
      if (keys !== undefined) await this.adopt(keys)
      this.#trouble.ended()
      return keys !== undefined
    } catch (error) {
      const reason = messageOf(error)
      const due = this.#repeated.signal.aborted ? undefined : this.#trouble.due(reason)
      if (due !== undefined) log.error('cannot serve the webhook', { error: reason, ...due })
      return false
    }
  }

  /** Serves with these from now on. */
  async adopt({ certificate: { current }, paths }: WebhookKeys): Promise<void> {
    const { clock, log } = this.#options
    this.#paths.accept(acceptedTokens(paths))
    if (this.#serving === undefined) {
      const server = this.#server(current)
      const port = await server.start()
      this.#options.announce?.(port)
      this.#serving = { server, port, certificate: current }
      log.info('serving the webhook', { port })
    } else if (this.#serving.certificate.cert !== current.cert) {
      this.#serving.server.renew(current)
      this.#serving.certificate = current
      log.info('webhook uses a new certificate', { port: this.#serving.port })
    }
    // Set last: an unusable certificate counts as not read, because the previous one soon expires.
    this.#readAt = clock.monotonic()
  }

  #server(certificate: ServingCertificate): WebhookServer {
    const { log, listen: host, port, findComponent, findMachine, guard, clientCa } = this.#options
    const judge = { validator: createValidator(), findComponent, findMachine }
    const more = clientCa === undefined ? {} : { clientCa }
    return new WebhookServer({ certificate, paths: this.#paths, judge, guard, log, host, port, ...more })
  }
}
