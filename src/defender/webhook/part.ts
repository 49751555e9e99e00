// The webhook as a part of the role: certificate, server, and the registration that names both, which is restored when another client deletes it.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { ANNOTATIONS, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { createValidator } from '#api/validate.ts'
import type { KubeClient } from '#kube/client.ts'
import type { EventRecorder } from '#kube/events.ts'
import type { Part } from '#runtime/manager.ts'
import type { KubeObject } from '#schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { sharedCertificate, type WebhookCertificate } from './certificate.ts'
import type { AskGuard } from '../guard/guard.ts'
import type { FindComponent, FindMachine } from './review.ts'
import { WEBHOOK_CONFIGURATION, webhookConfiguration, webhookConfigurationType } from './registration.ts'
import { SecretPaths } from './secret-paths.ts'
import { WebhookServer } from './server.ts'

export interface WebhookOptions {
  /** The address to listen on. */
  readonly listen: string
  /** 0 lets the system choose. */
  readonly port: number
  /** Host under which the API server reaches it. */
  readonly host: string
  /** PEM: the authority of the certificate that the API server sends, where it was given one. */
  readonly clientCa?: string
}

export interface WebhookPartOptions extends WebhookOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  readonly events: EventRecorder
  readonly findComponent: FindComponent
  readonly findMachine: FindMachine
  readonly guard: AskGuard
}

/** Without the registration no deletion is guarded, so a deleted or edited one is back within ten seconds. */
export const REGISTRATION_CHECK_MS = 5_000
/** A certificate is valid for a year; reading its Secret more often would be waste. */
const CERTIFICATE_CHECK_MS = 10 * 60_000

const namespaceType = coreKind('Namespace')

interface Serving {
  readonly server: WebhookServer
  readonly port: number
  certificate: WebhookCertificate
}

export class WebhookPart implements Part {
  readonly name = 'webhook'
  readonly #options: WebhookPartOptions
  readonly #end = new AbortController()
  readonly #paths: SecretPaths
  #serving: Serving | undefined
  #certificateCheckedAt = -Infinity
  /** The version of the registration that is known to be right. */
  #registered: string | undefined
  #checking: Promise<void> = Promise.resolve()

  constructor(options: WebhookPartOptions) {
    this.#options = options
    this.#paths = new SecretPaths(options.clock)
  }

  /** Permits are decided with and without a webhook: a failure to serve it is logged and retried, and stops nothing else. */
  async start(): Promise<void> {
    await this.look()
    this.#checking = this.#keepChecking()
  }

  async stop(): Promise<void> {
    this.#end.abort()
    await this.#checking
    await this.#serving?.server.stop()
  }

  async #keepChecking(): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#end
    while (!signal.aborted) {
      await clock.sleep(REGISTRATION_CHECK_MS, signal).catch(() => undefined)
      if (!signal.aborted) await this.check()
    }
  }

  /** Reads the registration; only one that is missing or changed costs more than that. */
  async check(): Promise<void> {
    const { client, clock, log } = this.#options
    const isCertificateDue = clock.monotonic() - this.#certificateCheckedAt >= CERTIFICATE_CHECK_MS
    if (this.#registered === undefined || isCertificateDue || this.#paths.isRotationDue) return void (await this.look())
    try {
      const found = await client.get(webhookConfigurationType, { name: WEBHOOK_CONFIGURATION })
      if (found?.metadata.resourceVersion !== this.#registered) await this.#putBack(found)
    } catch (error) {
      if (!this.#end.signal.aborted) log.error('cannot read the webhook registration', { error: messageOf(error) })
    }
  }

  async #putBack(found: KubeObject | undefined): Promise<void> {
    const { log, events } = this.#options
    const registered = await this.#register()
    if (registered === undefined) return
    // Another client may have added fields that are not ours, which changes only the version.
    if (registered.metadata.resourceVersion === found?.metadata.resourceVersion) return
    const change = found === undefined ? 'deleted' : 'edited'
    log.warn('restored the webhook registration', { reason: change })
    events.record(registered, {
      type: 'Warning',
      reason: 'RegistrationRestored',
      action: 'Restore',
      note: `the registration was ${change}; the Defender restored it. To uninstall, first annotate namespace ${SYSTEM_NAMESPACE} with ${ANNOTATIONS.uninstalling}=true`,
    })
  }

  /** Serves with the certificate that all Defenders of the cluster share and registers it. False when that failed. */
  async look(): Promise<boolean> {
    const { client, clock, log, host } = this.#options
    try {
      const certificate = await sharedCertificate(client, host, clock)
      await this.#serve(certificate)
      await this.#register()
      this.#certificateCheckedAt = clock.monotonic()
      return true
    } catch (error) {
      if (!this.#end.signal.aborted) log.error('cannot serve the webhook', { error: messageOf(error) })
      return false
    }
  }

  /** Undefined while KubeNode is being uninstalled: then deleted objects stay deleted. */
  async #register(): Promise<KubeObject | undefined> {
    const { client, host, log } = this.#options
    if (this.#serving === undefined) return undefined
    const { port, certificate } = this.#serving
    const namespace = await client.get(namespaceType, { name: SYSTEM_NAMESPACE })
    if (namespace?.metadata.annotations?.[ANNOTATIONS.uninstalling] === 'true') {
      log.info('the webhook is not registered', { reason: 'Uninstalling' })
      return undefined
    }
    const address = host.includes(':') ? `[${host}]` : host
    const token = this.#paths.propose()
    const configuration = webhookConfiguration(`https://${address}:${port}`, certificate.ca, token)
    const registered = await client.apply(webhookConfigurationType, configuration, {
      fieldManager: FIELD_MANAGERS.defender,
      force: true,
    })
    this.#paths.adopt(token)
    this.#registered = registered.metadata.resourceVersion
    return registered
  }

  async #serve(certificate: WebhookCertificate): Promise<void> {
    const { log, listen, port, findComponent, findMachine, guard, clientCa } = this.#options
    if (this.#serving === undefined) {
      const judge = { validator: createValidator(), findComponent, findMachine }
      const server = new WebhookServer({
        certificate,
        paths: this.#paths,
        judge,
        guard,
        log,
        host: listen,
        port,
        ...(clientCa !== undefined && { clientCa }),
      })
      this.#serving = { server, port: await server.start(), certificate }
      log.info('serving the webhook', { port: this.#serving.port })
    } else if (this.#serving.certificate.cert !== certificate.cert) {
      this.#serving.server.renew(certificate)
      this.#serving.certificate = certificate
      log.info('webhook uses a new certificate', { port: this.#serving.port })
    }
  }
}
