// Watches one object by name. An agent's main cost is its requests, times ten thousand: this watch reads one object and nothing else.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { createInformer } from '#kube/informer.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'

export interface NamedWatch<T extends KubeObject> {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly type: ResourceType<T>
  readonly name: string
  /** Undefined: the object does not exist (any longer). */
  readonly onObject: (object: T | undefined) => void | Promise<void>
  /** Called with the object from each list, even if it did not change: the server may have reverted to an earlier state. */
  readonly onListed?: (object: T | undefined) => void
}

/** Runs until the signal aborts; never rejects. */
export async function watchNamed<T extends KubeObject>(o: NamedWatch<T>, signal: AbortSignal): Promise<void> {
  let isFailing = false
  const log = o.log.with({ watch: `${o.type.plural}/${o.name}` })
  const informer = createInformer({
    client: o.client,
    type: o.type,
    clock: o.clock,
    random: o.random,
    selection: { fieldSelector: `metadata.name=${o.name}` },
    notice: (notice) => {
      if (notice.kind === 'Listed') o.onListed?.(informer.store.get({ name: o.name }))
      if (notice.kind === 'Failed' && !isFailing) {
        isFailing = true
        log.warn('watch failed', { error: notice.error })
      } else if (notice.kind === 'Listed' && isFailing) {
        isFailing = false
        log.info('watch restarted', {})
      } else if (notice.kind === 'HandlerFailed') log.error('handler failed', { error: notice.error })
    },
  })
  informer.addHandler((_old, now) => o.onObject(now))
  await informer.run(signal)
}
