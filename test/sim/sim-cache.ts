// The smallest cache that is right: list, then watch from there, list again when told that it is too late. For simulations of other parts.
import type { Clock } from '#lib/clock.ts'
import type { KubeClient, WatchEvent } from '#kube/client.ts'
import { isGone } from '#kube/errors.ts'
import { isOlder } from '#kube/resource-version.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'

const RETRY_MS = 500

export interface SimCacheOptions<T extends KubeObject> {
  readonly client: KubeClient
  readonly clock: Clock
  readonly type: ResourceType<T>
  /** `after` is undefined for a deletion. */
  readonly onChange: (before: T | undefined, after: T | undefined) => void
}

export class SimCache<T extends KubeObject> {
  readonly #options: SimCacheOptions<T>
  #objects = new Map<string, T>()
  #version: string | undefined
  isSynced = false

  constructor(options: SimCacheOptions<T>) {
    this.#options = options
    void this.#run()
  }

  get(name: string): T | undefined {
    return this.#objects.get(name)
  }

  all(): readonly T[] {
    return [...this.#objects.values()]
  }

  async #run(): Promise<never> {
    for (;;) {
      try {
        if (this.#version === undefined) await this.#list()
        else await this.#watch(this.#version)
      } catch (error) {
        if (isGone(error)) this.#version = undefined
        await this.#options.clock.sleep(RETRY_MS)
      }
    }
  }

  async #list(): Promise<void> {
    const { client, type, onChange } = this.#options
    const { items, resourceVersion } = await client.list(type)
    const before = this.#objects
    this.#objects = new Map(items.map((o) => [o.metadata.name ?? '', o]))
    this.#version = resourceVersion
    this.isSynced = true
    for (const object of items) onChange(before.get(object.metadata.name ?? ''), object)
    for (const [name, object] of before) if (!this.#objects.has(name)) onChange(object, undefined)
  }

  async #watch(resourceVersion: string): Promise<void> {
    const { client, type } = this.#options
    for await (const event of client.watch(type, { resourceVersion, timeoutSeconds: 300 })) this.#take(event)
  }

  #take(event: WatchEvent<T>): void {
    if (event.type === 'BOOKMARK') {
      this.#version = event.resourceVersion
      return
    }
    const { name = '', resourceVersion } = event.object.metadata
    if (this.#version !== undefined && !isOlder(this.#version, resourceVersion)) return
    this.#version = resourceVersion
    const before = this.#objects.get(name)
    const after = event.type === 'DELETED' ? undefined : event.object
    if (after === undefined) this.#objects.delete(name)
    else this.#objects.set(name, after)
    this.#options.onChange(before, after)
  }
}
