// Keeps the installation's admission policies in the cluster. If another client deletes one, it is recreated. If one was changed, this is reported,
// also in the ledger. The Defender may create policies but not change them, so that its key cannot weaken any.
import { ANNOTATIONS, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { isChanged, POLICY_TYPES } from '#kube/admission-policies.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { isAlreadyExists } from '#kube/errors.ts'
import type { EventRecorder } from '#kube/events.ts'
import { MAX_ALTERED } from '#api/kinds/defender-ledger.ts'
import { type Clock, timestamp } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import { jsonEqual } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { RepeatedLine } from '#lib/repeated-line.ts'
import type { Informers, SharedInformer } from '#runtime/informers.ts'
import { RepeatedCheck } from '#runtime/repeated-check.ts'
import type { Part } from '#runtime/manager.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { AlteredPolicy } from './ledger.ts'

export interface PolicyKeeperOptions {
  readonly client: KubeClient
  readonly informers: Informers
  readonly clock: Clock
  readonly log: Logger
  readonly events: EventRecorder
  /** Policies first. */
  readonly shipped: readonly KubeObject[]
  /** Called when `altered` changes. */
  readonly onAltered?: () => void
}

/** A missing policy permits what it refused before, and the check only reads caches. */
const CHECK_MS = 2_000

const VERSION = 'app.kubernetes.io/version'

const namespaceType = coreKind('Namespace')

export class PolicyKeeper implements Part {
  readonly name = 'policies'
  readonly #options: PolicyKeeperOptions
  readonly #repeated: RepeatedCheck
  readonly #trouble: RepeatedLine
  #caches: ReadonlyMap<string, SharedInformer> = new Map()
  /** Versions of changed policies that were already reported. */
  readonly #reported = new Map<string, string>()
  #altered: readonly AlteredPolicy[] | undefined

  constructor(options: PolicyKeeperOptions) {
    this.#options = options
    this.#repeated = new RepeatedCheck(options.clock)
    this.#trouble = new RepeatedLine(options.clock)
  }

  /** Nothing waits for these caches: permits are decided even if they cannot be read. */
  start(): void {
    this.#caches = new Map(POLICY_TYPES.map((type) => [type.kind, this.#options.informers.of(type)]))
    this.#repeated.start(
      () => CHECK_MS,
      () => this.check(),
    )
  }

  stop(): Promise<void> {
    return this.#repeated.stop()
  }

  /** Policies that differ from the installed version and were not repaired. Undefined until all were compared. */
  get altered(): readonly AlteredPolicy[] | undefined {
    return this.#altered
  }

  async check(): Promise<void> {
    try {
      if (![...this.#caches.values()].every((cache) => cache.isSynced)) return
      const missing = this.#options.shipped.filter((o) => this.#liveOf(o) === undefined)
      const isLeft = missing.length > 0 && (await this.#isUninstalling())
      if (!isLeft) for (const each of missing) await this.#restore(each)
      for (const each of this.#options.shipped) this.#reportChange(each)
      this.#note(!isLeft)
      this.#trouble.ended()
    } catch (error) {
      if (this.#repeated.signal.aborted) return
      this.#note(true)
      const why = messageOf(error)
      const due = this.#trouble.due(why)
      if (due !== undefined) this.#options.log.error('cannot restore admission policies', { error: why, ...due })
    }
  }

  #liveOf({ kind, metadata: { name = '' } }: KubeObject): KubeObject | undefined {
    return this.#caches.get(kind)?.get(name)
  }

  /** `countsMissing`: they should exist. */
  #note(countsMissing: boolean): void {
    const { shipped, clock, onAltered } = this.#options
    const before = new Map(this.#altered?.map((a) => [`${a.kind}/${a.name}/${a.how}`, a]))
    const now = timestamp(clock.now())
    const altered = shipped
      .flatMap((object): readonly AlteredPolicy[] => {
        const { kind, metadata } = object
        const { name = '' } = metadata
        const live = this.#liveOf(object)
        const how = live === undefined ? 'Missing' : this.#reported.has(`${kind}/${name}`) ? 'Changed' : undefined
        if (how === undefined || (how === 'Missing' && !countsMissing)) return []
        return [before.get(`${kind}/${name}/${how}`) ?? { kind: kind as AlteredPolicy['kind'], name, how, since: now }]
      })
      .slice(0, MAX_ALTERED)
    if (jsonEqual(altered, this.#altered)) return
    this.#altered = altered
    onAltered?.()
  }

  /** An uninstall deletes them on purpose. */
  async #isUninstalling(): Promise<boolean> {
    const namespace = await this.#options.client.get(namespaceType, { name: SYSTEM_NAMESPACE })
    return namespace?.metadata.annotations?.[ANNOTATIONS.uninstalling] === 'true'
  }

  async #restore(shipped: KubeObject): Promise<void> {
    const { client, log, events } = this.#options
    const type = POLICY_TYPES.find((t) => t.kind === shipped.kind)
    if (type === undefined) return
    const { name } = shipped.metadata
    try {
      // Under the installer's field manager: the next upgrade takes its fields over.
      const made = await client.create(type, shipped, { fieldManager: FIELD_MANAGERS.install })
      this.#caches.get(type.kind)?.assume(made)
      log.warn('restored an admission policy that was deleted', { kind: shipped.kind, policy: name })
      events.record(made, {
        type: 'Warning',
        reason: 'PolicyRestored',
        action: 'Restore',
        note: `${shipped.kind} ${name} was deleted; the Defender restored it. To uninstall, run kubenode uninstall`,
      })
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
    }
  }

  #reportChange(shipped: KubeObject): void {
    const { log, events } = this.#options
    const live = this.#liveOf(shipped)
    const key = `${shipped.kind}/${shipped.metadata.name}`
    // During an upgrade the new policies are there before the new Defender.
    const isOfAnother =
      (live?.metadata.labels?.[VERSION] ?? shipped.metadata.labels?.[VERSION]) !== shipped.metadata.labels?.[VERSION]
    if (live === undefined || isOfAnother || !isChanged(shipped, live)) return void this.#reported.delete(key)
    const { resourceVersion = '' } = live.metadata
    if (this.#reported.get(key) === resourceVersion) return
    this.#reported.set(key, resourceVersion)
    log.warn('an admission policy differs from this release', { kind: shipped.kind, policy: shipped.metadata.name })
    events.record(live, {
      type: 'Warning',
      reason: 'PolicyChanged',
      action: 'Check',
      note: `${key} differs from what this release installs; to set it back, run kubenode install with its settings again`,
    })
  }
}
