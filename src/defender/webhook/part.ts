// The webhook as a part of the role: certificate, server, and then the registration that names both.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { createValidator } from '#api/validate.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Part } from '#runtime/manager.ts'
import { sharedCertificate } from './certificate.ts'
import { webhookConfiguration, webhookConfigurationType } from './registration.ts'
import { WEBHOOK_PATH, WebhookServer } from './server.ts'

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
}

export class WebhookPart implements Part {
  readonly name = 'webhook'
  readonly #options: WebhookPartOptions
  #server: WebhookServer | undefined

  constructor(options: WebhookPartOptions) {
    this.#options = options
  }

  /** Permits are decided with and without a webhook: what keeps it from starting is said, and stops nothing else. */
  async start(): Promise<void> {
    const { log } = this.#options
    try {
      await this.#start()
    } catch (error) {
      log.error('the webhook is not served', { error: messageOf(error) })
    }
  }

  async stop(): Promise<void> {
    await this.#server?.stop()
  }

  async #start(): Promise<void> {
    const { client, clock, log, listen, port, host } = this.#options
    const certificate = await sharedCertificate(client, host, clock)
    this.#server = new WebhookServer({ certificate, validator: createValidator(), log, host: listen, port })
    const bound = await this.#server.start()
    const address = host.includes(':') ? `[${host}]` : host
    const configuration = webhookConfiguration(`https://${address}:${bound}${WEBHOOK_PATH}`, certificate.ca)
    await client.apply(webhookConfigurationType, configuration, { fieldManager: FIELD_MANAGERS.defender, force: true })
    log.info('webhook serves', { port: bound })
  }
}
