// Keeps the fleet in sync with the caches: records changed objects, and updates only those before the next decision.
import { keyText } from '#api/schema/object-meta.ts'
import type { Caches } from './caches.ts'
import { Fleet } from './fleet.ts'
import { defined } from '#lib/defined.ts'

export class FleetWatch {
  readonly #caches: Caches
  readonly #fleet = new Fleet()
  readonly #machines = new Set<string>()
  readonly #nodes = new Set<string>()
  readonly #clusters = new Map<string, { readonly name: string; readonly namespace?: string }>()

  constructor(caches: Caches) {
    this.#caches = caches
  }

  /** Cached objects are reported first. */
  listen(changed: () => void): () => void {
    const { machines, nodes, clusters } = this.#caches
    const removers = [
      machines.onChange((before, now) => {
        this.#machines.add((now ?? before)?.metadata.name ?? '')
        changed()
      }),
      nodes.onChange((before, now) => {
        this.#nodes.add((now ?? before)?.metadata.name ?? '')
        changed()
      }),
      clusters?.onChange((before, now) => {
        const { name = '', namespace } = (now ?? before)?.metadata ?? {}
        const key = { name, ...defined({ namespace }) }
        this.#clusters.set(keyText(key), key)
        changed()
      }),
    ]
    return () => removers.forEach((remove) => remove?.())
  }

  /** Does not change until the next call. */
  now(): Fleet {
    const { machines, nodes, clusters } = this.#caches
    for (const name of this.#nodes) this.#fleet.putNode(name, nodes.get(name))
    for (const name of this.#machines) this.#fleet.putMachine(name, machines.get(name))
    for (const [text, key] of this.#clusters) this.#fleet.putCluster(text, clusters?.get(key))
    this.#nodes.clear()
    this.#machines.clear()
    this.#clusters.clear()
    return this.#fleet
  }
}
