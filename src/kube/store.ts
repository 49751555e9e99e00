// The cached objects of one kind by key, with indexes. Readers get it read-only; only the reflector writes.
import type { KubeObject } from '#api/schema/object.ts'
import type { ObjectKey } from '#api/schema/resource.ts'
import { keyText, namespacedName } from '#api/schema/object-meta.ts'

/** The index values of an object; there may be any number. */
export type Indexer<T> = (object: T) => readonly string[]

export interface ReadonlyStore<T extends KubeObject = KubeObject> {
  readonly size: number
  get(key: ObjectKey): T | undefined
  /** All objects, in no particular order. */
  list(): readonly T[]
  /** Throws for an undeclared index: that is the caller's bug, not an empty result. */
  byIndex(index: string, value: string): readonly T[]
  /** The values of an index that have at least one object. */
  indexValues(index: string): readonly string[]
}

function guarded<T>(indexer: Indexer<T>, failed: (error: unknown) => void): Indexer<T> {
  return (object) => {
    try {
      return indexer(object)
    } catch (e) {
      failed(e)
      return []
    }
  }
}

type Index = Map<string, Set<string>>

/** The part of a Map that a store needs. A packed one may return a new object at each `get`, and reduced ones in `values`. */
export interface Objects<T> {
  readonly size: number
  get(key: string): T | undefined
  set(key: string, object: T): unknown
  delete(key: string): unknown
  /** Stable while objects are deleted. */
  keys(): Iterable<string>
  values(): Iterable<T>
}

export class Store<T extends KubeObject = KubeObject> implements ReadonlyStore<T> {
  readonly #objects: Objects<T>
  readonly #indexers: Map<string, Indexer<T>>
  readonly #failed: (error: unknown) => void
  readonly #indexes = new Map<string, Index>()

  /** An indexer that fails on an object is reported and gives no index values: one odd object must not stop the others. */
  constructor(
    indexers: Readonly<Record<string, Indexer<T>>> = {},
    failed: (error: unknown) => void = () => undefined,
    objects: Objects<T> = new Map<string, T>(),
  ) {
    this.#objects = objects
    this.#failed = failed
    this.#indexers = new Map(Object.entries(indexers).map(([name, indexer]) => [name, guarded(indexer, failed)]))
    for (const name of this.#indexers.keys()) this.#indexes.set(name, new Map())
  }

  /** Adds an index over all current and future objects; an existing one stays unchanged. */
  addIndex(name: string, indexer: Indexer<T>): void {
    if (this.#indexers.has(name)) return
    const safe = guarded(indexer, this.#failed)
    this.#indexers.set(name, safe)
    this.#indexes.set(name, new Map())
    for (const object of this.#objects.values()) this.#reindex(name, namespacedName(object), [], safe(object))
  }

  get size(): number {
    return this.#objects.size
  }

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(keyText(key))
  }

  at(key: string): T | undefined {
    return this.#objects.get(key)
  }

  keys(): Iterable<string> {
    return this.#objects.keys()
  }

  list(): readonly T[] {
    return [...this.#objects.values()]
  }

  byIndex(index: string, value: string): readonly T[] {
    const out: T[] = []
    for (const key of this.#index(index).get(value) ?? []) {
      const object = this.#objects.get(key)
      if (object !== undefined) out.push(object)
    }
    return out
  }

  indexValues(index: string): readonly string[] {
    return [...this.#index(index).keys()]
  }

  set(key: string, object: T): void {
    const old = this.#objects.get(key)
    this.#objects.set(key, object)
    for (const [name, indexer] of this.#indexers)
      this.#reindex(name, key, old === undefined ? [] : indexer(old), indexer(object))
  }

  delete(key: string): void {
    const old = this.#objects.get(key)
    if (old === undefined) return
    this.#objects.delete(key)
    for (const [name, indexer] of this.#indexers) this.#reindex(name, key, indexer(old), [])
  }

  #index(name: string): Index {
    const index = this.#indexes.get(name)
    if (index === undefined)
      throw new Error(`no index ${JSON.stringify(name)}; declared: ${[...this.#indexes.keys()].join(', ') || 'none'}`)
    return index
  }

  #reindex(name: string, key: string, before: readonly string[], after: readonly string[]): void {
    const index = this.#index(name)
    for (const value of before) {
      if (after.includes(value)) continue
      const keys = index.get(value)
      keys?.delete(key)
      if (keys?.size === 0) index.delete(value)
    }
    for (const value of after) {
      const keys = index.get(value)
      if (keys === undefined) index.set(value, new Set([key]))
      else keys.add(key)
    }
  }
}
