// The webhook as a part of the role: certificate, server, and then the registration that names both.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { createValidator } from '#api/validate.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Part } from '#runtime/manager.ts'
import { sharedCertificate, type WebhookCertificate } from './certificate.ts'
import type { AskGuard } from '../guard/guard.ts'
import type { FindComponent } from './review.ts'
import { webhookConfiguration, webhookConfigurationType } from './registration.ts'
import { WebhookServer } from './server.ts'

export interface WebhookOptions {
  /** The address to listen on. */
  readonly listen: string
  /** 0 lets the system choose. */
  readonly port: number
  /** Host under which the API server reaches it. */
  readonly host: string
}

export interface WebhookPartOptions extends WebhookOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  readonly findComponent: FindComponent
  readonly guard: AskGuard
}

/** How often certificate and registration are looked at: whoever deleted one of them finds it back, and no certificate runs out under a process that lives long. */
const LOOK_EVERY_MS = 10 * 60_000
const RETRY_AFTER_MS = 5_000

export class WebhookPart implements Part {
  readonly name = 'webhook'
  readonly #options: WebhookPartOptions
  readonly #end = new AbortController()
  #serving: { readonly server: WebhookServer; readonly port: number; certificate: WebhookCertificate } | undefined
  #looking: Promise<void> = Promise.resolve()

  constructor(options: WebhookPartOptions) {
    this.#options = options
  }

  /** Permits are decided with and without a webhook: what keeps it from being served is said, tried again, and stops nothing else. */
  async start(): Promise<void> {
    const isServed = await this.look()
    this.#looking = this.#keepLooking(isServed)
  }

  async stop(): Promise<void> {
    this.#end.abort()
    await this.#looking
    await this.#serving?.server.stop()
  }

  async #keepLooking(wasServed: boolean): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#end
    for (let isServed = wasServed; !signal.aborted;) {
      await clock.sleep(isServed ? LOOK_EVERY_MS : RETRY_AFTER_MS, signal).catch(() => undefined)
      if (!signal.aborted) isServed = await this.look()
    }
  }

  /** Serves with the certificate that the defenders share now, and says where. False when that could not be done. */
  async look(): Promise<boolean> {
    const { client, clock, log, host } = this.#options
    try {
      const certificate = await sharedCertificate(client, host, clock)
      const port = await this.#serve(certificate)
      const address = host.includes(':') ? `[${host}]` : host
      const configuration = webhookConfiguration(`https://${address}:${port}`, certificate.ca)
      await client.apply(webhookConfigurationType, configuration, {
        fieldManager: FIELD_MANAGERS.defender,
        force: true,
      })
      return true
    } catch (error) {
      if (!this.#end.signal.aborted) log.error('the webhook is not served', { error: messageOf(error) })
      return false
    }
  }

  async #serve(certificate: WebhookCertificate): Promise<number> {
    const { log, listen, port, findComponent, guard } = this.#options
    if (this.#serving === undefined) {
      const judge = { validator: createValidator(), findComponent }
      const server = new WebhookServer({ certificate, judge, guard, log, host: listen, port })
      this.#serving = { server, port: await server.start(), certificate }
      log.info('webhook serves', { port: this.#serving.port })
    } else if (this.#serving.certificate.cert !== certificate.cert) {
      this.#serving.server.renew(certificate)
      this.#serving.certificate = certificate
      log.info('webhook serves a new certificate', { port: this.#serving.port })
    }
    return this.#serving.port
  }
}
