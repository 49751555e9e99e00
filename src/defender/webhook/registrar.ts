// The leader's part of the webhook: keeps its certificate and paths, and the registration that names them. The registration is restored if another
// client deletes or edits it.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { RepeatedLine } from '#lib/repeated-line.ts'
import { ANNOTATIONS, FIELD_MANAGERS, programUser, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import type { EventRecorder } from '#kube/events.ts'
import { RepeatedCheck } from '#runtime/repeated-check.ts'
import type { Part } from '#runtime/manager.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { KeyKeeper, type WebhookKeys } from './keys.ts'
import {
  type WebhookAddress,
  WEBHOOK_CONFIGURATION,
  webhookConfiguration,
  webhookConfigurationType,
} from './registration.ts'
import { isService, type WebhookOptions, type WebhookReplica } from './replica.ts'

export interface RegistrarOptions extends Pick<WebhookOptions, 'at'> {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  readonly events: EventRecorder
  /** The replica of this process. */
  readonly replica: Pick<WebhookReplica, 'adopt' | 'port'>
}

/** Without the registration no deletion is guarded, so a deleted or edited one is back within ten seconds. */
const REGISTRATION_CHECK_MS = 5_000
/** Changes take at least ten minutes. If another client changes the Secret, the change is served after this time at the latest. */
const KEYS_CHECK_MS = 60_000

const namespaceType = coreKind('Namespace')
const clusterRoleType = coreKind('ClusterRole')
/** From the installation. Without it the Defender has no rights, so its webhook must not outlive it. */
const OWN_ROLE = programUser('defender')

export class WebhookRegistrar implements Part {
  readonly name = 'webhook'
  readonly #options: RegistrarOptions
  readonly #repeated: RepeatedCheck
  readonly #keeper: KeyKeeper
  #keys: WebhookKeys | undefined
  #keysCheckedAt = -Infinity
  /** The version of the registration that is known to be right. */
  #registered: string | undefined
  /** Errors that repeat every five seconds with the same text. */
  readonly #trouble: RepeatedLine
  readonly #absence: RepeatedLine
  readonly #noRole: RepeatedLine

  constructor(options: RegistrarOptions) {
    this.#options = options
    const { client, clock, at } = options
    this.#repeated = new RepeatedCheck(clock)
    this.#keeper = new KeyKeeper({ client, clock, hosts: hostsOf(at) })
    this.#trouble = new RepeatedLine(clock)
    this.#absence = new RepeatedLine(clock)
    this.#noRole = new RepeatedLine(clock)
  }

  async start(): Promise<void> {
    await this.reload()
    this.#repeated.start(
      () => REGISTRATION_CHECK_MS,
      () => this.check(),
    )
  }

  stop(): Promise<void> {
    return this.#repeated.stop()
  }

  /** Reads the registration. Only a missing or changed one costs more. */
  async check(): Promise<void> {
    const { client, clock } = this.#options
    const areKeysDue = clock.monotonic() - this.#keysCheckedAt >= KEYS_CHECK_MS
    if (this.#registered === undefined || areKeysDue) return void (await this.reload())
    try {
      const found = await client.get(webhookConfigurationType, { name: WEBHOOK_CONFIGURATION })
      if (found?.metadata.resourceVersion !== this.#registered) await this.#putBack(found)
      this.#trouble.ended()
    } catch (error) {
      this.#report('cannot read the webhook registration', error)
    }
  }

  async #putBack(found: KubeObject | undefined): Promise<void> {
    const { log, events } = this.#options
    const registered = await this.#register()
    if (registered === undefined) return
    // Another client may have added unrelated fields, which changes only the version.
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

  /** Takes the next step of a certificate or path change, and registers what this replica serves. False if that failed. */
  async reload(): Promise<boolean> {
    const { clock, replica } = this.#options
    try {
      this.#keys = await this.#keeper.reload()
      await replica.adopt(this.#keys)
      await this.#register()
      this.#keysCheckedAt = clock.monotonic()
      this.#trouble.ended()
      return true
    } catch (error) {
      this.#report('cannot serve the webhook', error)
      return false
    }
  }

  #report(message: string, error: unknown): void {
    if (this.#repeated.signal.aborted) return
    const reason = messageOf(error)
    const due = this.#trouble.due(`${message}: ${reason}`)
    if (due !== undefined) this.#options.log.error(message, { error: reason, ...due })
  }

  /** Undefined while KubeNode is being uninstalled: deleted objects stay deleted then. */
  async #register(): Promise<KubeObject | undefined> {
    const { client, log, at, replica } = this.#options
    const address = addressOf(at, replica.port)
    if (this.#keys === undefined || address === undefined) return undefined
    const namespace = await client.get(namespaceType, { name: SYSTEM_NAMESPACE })
    if (namespace?.metadata.annotations?.[ANNOTATIONS.uninstalling] === 'true') {
      const due = this.#absence.due('Uninstalling')
      if (due !== undefined) log.info('the webhook is not registered', { reason: 'Uninstalling', ...due })
      return undefined
    }
    this.#absence.ended()
    const { bundle, token } = this.#keeper.wanted(this.#keys)
    const configuration = await this.#owned(webhookConfiguration(address, bundle, token))
    const registered = await client.apply(webhookConfigurationType, configuration, {
      fieldManager: FIELD_MANAGERS.defender,
      force: true,
    })
    this.#keeper.registered(this.#keys, token)
    this.#registered = registered.metadata.resourceVersion
    return registered
  }

  /**
   * `kubectl delete -f` removes the role, and the garbage collector then removes the registration. Without an owner, it would refuse deletions
   * forever.
   */
  async #owned(configuration: KubeObject): Promise<KubeObject> {
    const { client, log } = this.#options
    try {
      const role = await client.get(clusterRoleType, { name: OWN_ROLE })
      const uid = role?.metadata.uid
      if (uid === undefined) return configuration
      const owner = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: OWN_ROLE, uid }
      return { ...configuration, metadata: { ...configuration.metadata, ownerReferences: [owner] } }
    } catch (error) {
      // The roles may be from an older release. The webhook matters more than its owner.
      const due = this.#noRole.due(messageOf(error))
      if (due !== undefined) log.warn('cannot read the role of the Defender', { error: messageOf(error), ...due })
      return configuration
    }
  }
}

/** The names that an API server verifies. For a Service, always the same one. */
const hostsOf = (at: WebhookOptions['at']): readonly string[] =>
  isService(at) ? [`${at.name}.${at.namespace}.svc`] : [at.host]

function addressOf(at: WebhookOptions['at'], port: number | undefined): WebhookAddress | undefined {
  if (isService(at)) return at
  if (port === undefined) return undefined
  return `https://${at.host.includes(':') ? `[${at.host}]` : at.host}:${port}`
}
