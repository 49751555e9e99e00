// All objects of one resource: the committed state in key order, a bounded window of past changes, and its watchers.
import type { Stored, StoreEvent } from './stored.ts'

/** Changes kept for watchers that resume and for pages of an older list; beyond any of the bounds the oldest are dropped. */
const WINDOW_EVENTS = 4_096
const WINDOW_BYTES = 16 * 1024 * 1024
/** As long as a kube-apiserver keeps history by default. Without it an idle server would fill 4,096 changes of each kind within hours. */
export const WINDOW_MS = 5 * 60_000
/** This much more than each bound is kept before the oldest are dropped, so that the copy is rare. */
const SLACK = 1.25

export interface WatchScope {
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined
  /** Undefined: all names. Found through an index, not by asking each watcher. */
  readonly name: string | undefined
}

export type Listener = (event: StoreEvent) => void

/** Keys sort by namespace, then name, as paths do. */
const keyOf = (namespace: string, name: string): string => (namespace === '' ? name : `${namespace}/${name}`)

export class Collection {
  readonly resource: string
  /** The oldest revision from which a watch can resume. */
  #floor: number
  readonly #objects = new Map<string, Stored>()
  #keys: string[] = []
  #sorted = true
  #window: StoreEvent[] = []
  #windowBytes = 0
  readonly #everything = new Set<Listener>()
  readonly #byNamespace = new Map<string, Set<Listener>>()
  readonly #byKey = new Map<string, Set<Listener>>()

  constructor(resource: string, floor: number) {
    this.resource = resource
    this.#floor = floor
  }

  get floor(): number {
    return this.#floor
  }
  get size(): number {
    return this.#objects.size
  }

  get(namespace: string, name: string): Stored | undefined {
    return this.#objects.get(keyOf(namespace, name))
  }

  /** Loading at start: no event, order comes later. */
  load(object: Stored): void {
    const key = keyOf(object.namespace, object.name)
    this.#objects.set(key, object)
    this.#keys.push(key)
    this.#sorted = false
  }

  /** Makes a committed change visible and tells the watchers. */
  apply(event: StoreEvent): void {
    const { object } = event
    const key = keyOf(object.namespace, object.name)
    if (event.type === 'DELETED') {
      this.#objects.delete(key)
      this.#removeKey(key)
    } else {
      if (!this.#objects.has(key)) this.#insertKey(key)
      this.#objects.set(key, object)
    }
    this.#remember(event)
    this.#tell(this.#byKey.get(key), event)
    this.#tell(this.#byNamespace.get(object.namespace), event)
    this.#tell(this.#everything, event)
  }

  /** A copy of all of them, for callers that change objects while they iterate. */
  snapshot(namespace?: string): readonly Stored[] {
    return Array.from(this.list(namespace))
  }

  /** Objects in key order, of one namespace or all, after `afterKey`. */
  *list(namespace: string | undefined, afterKey = ''): Iterable<Stored> {
    const keys = this.#sortedKeys()
    const prefix = namespace === undefined ? '' : `${namespace}/`
    const start = afterKey !== '' && afterKey >= prefix ? afterKey : prefix
    for (let i = lowerBound(keys, start); i < keys.length; i++) {
      const key = keys[i] ?? ''
      if (!key.startsWith(prefix)) return
      if (key === afterKey) continue
      const object = this.#objects.get(key)
      if (object !== undefined) yield object
    }
  }

  /** The state at an older revision, in key order; undefined when the window no longer reaches back to it. */
  listAt(revision: number, namespace: string | undefined, afterKey = ''): Iterable<Stored> | undefined {
    if (revision < this.#floor) return undefined
    const newest = this.#window.at(-1)?.revision ?? 0
    if (newest <= revision) return this.list(namespace, afterKey)
    const changed = new Map<string, Stored | undefined>()
    for (let i = this.#window.length - 1; i >= 0; i--) {
      const event = this.#window[i]
      if (event === undefined || event.revision <= revision) break
      changed.set(keyOf(event.object.namespace, event.object.name), event.previous)
    }
    const keys = [...new Set([...this.#keys, ...changed.keys()])].sort(byText)
    const prefix = namespace === undefined ? '' : `${namespace}/`
    return keys
      .filter((k) => k.startsWith(prefix) && k > afterKey)
      .map((k) => (changed.has(k) ? changed.get(k) : this.#objects.get(k)))
      .filter((o) => o !== undefined)
  }

  /** Changes after a revision; undefined when the window no longer reaches back to it. */
  since(revision: number, { namespace, name }: WatchScope): readonly StoreEvent[] | undefined {
    if (revision < this.#floor) return undefined
    let i = this.#window.length
    while (i > 0 && (this.#window[i - 1]?.revision ?? 0) > revision) i--
    return this.#window
      .slice(i)
      .filter(
        (e) =>
          (namespace === undefined || e.object.namespace === namespace) &&
          (name === undefined || e.object.name === name),
      )
  }

  /** Calls the listener for each later change in scope, in order; returns the function that stops it. */
  watch({ namespace, name }: WatchScope, listener: Listener): () => void {
    if (name !== undefined && namespace !== undefined) return join(this.#byKey, keyOf(namespace, name), listener)
    if (namespace !== undefined) return join(this.#byNamespace, namespace, listener)
    this.#everything.add(listener)
    return () => void this.#everything.delete(listener)
  }

  #tell(listeners: Set<Listener> | undefined, event: StoreEvent): void {
    if (listeners !== undefined) for (const listener of listeners) listener(event)
  }

  #remember(event: StoreEvent): void {
    this.#window.push(event)
    this.#windowBytes += event.object.bytes.length
    const isOld = event.at - (this.#window[0]?.at ?? event.at) > WINDOW_MS * SLACK
    const isLong = this.#window.length > WINDOW_EVENTS * SLACK
    const isLarge = this.#windowBytes > WINDOW_BYTES
    if (!isOld && !isLong && !isLarge) return
    // only the bound that was passed is restored with its slack: large objects do not empty the window
    const keptEvents = isLong ? WINDOW_EVENTS : this.#window.length
    const keptBytes = isLarge ? WINDOW_BYTES * 0.75 : WINDOW_BYTES
    const keptSince = isOld ? event.at - WINDOW_MS : Number.NEGATIVE_INFINITY
    let drop = 0
    for (; drop < this.#window.length - 1; drop++) {
      const oldest = this.#window[drop]
      if (oldest === undefined) break
      if (this.#window.length - drop <= keptEvents && this.#windowBytes <= keptBytes && oldest.at >= keptSince) break
      this.#windowBytes -= oldest.object.bytes.length
    }
    if (drop === 0) return
    this.#floor = this.#window[drop - 1]?.revision ?? this.#floor
    this.#window = this.#window.slice(drop)
  }

  #sortedKeys(): readonly string[] {
    if (!this.#sorted) {
      this.#keys.sort(byText)
      this.#sorted = true
    }
    return this.#keys
  }

  #insertKey(key: string): void {
    const keys = this.#keys
    const last = keys.at(-1)
    if (!this.#sorted || last === undefined || last < key) keys.push(key)
    else keys.splice(lowerBound(keys, key), 0, key)
  }

  #removeKey(key: string): void {
    this.#sortedKeys()
    const i = lowerBound(this.#keys, key)
    if (this.#keys[i] === key) this.#keys.splice(i, 1)
  }
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** The first index whose key is not below `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((keys[middle] ?? '') < key) low = middle + 1
    else high = middle
  }
  return low
}

function join(index: Map<string, Set<Listener>>, key: string, listener: Listener): () => void {
  const set = index.get(key) ?? new Set()
  index.set(key, set.add(listener))
  return () => {
    set.delete(listener)
    if (set.size === 0 && index.get(key) === set) index.delete(key)
  }
}
