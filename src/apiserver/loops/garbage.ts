// Garbage collection by owner references: deletes objects whose owners do not exist; foreground deletion waits for dependents, orphaning
// releases them. The graph is rebuilt from the store on each run; only facts of single versions are cached, and those never change.
import type { Logger } from '#lib/log.ts'
import type { KubeObject, OwnerReference } from '#api/schema/object.ts'
import type { ServerParts } from '../handlers/context.ts'
import type { Served } from '../registry/served.ts'
import { storeObject } from '../storage/internal-write.ts'
import type { Stored } from '../storage/stored.ts'
import { Collections } from './collect.ts'

const FOREGROUND = 'foregroundDeletion'
const ORPHAN = 'orphan'

interface Graph {
  /** By the uid of their owner. */
  readonly dependents: ReadonlyMap<string, readonly Stored[]>
  readonly owned: ReadonlyMap<Stored, Served>
  readonly dying: readonly Stored[]
}

/** The facts of one version of an object that garbage collection needs. */
interface Ties {
  readonly uid: string | undefined
  readonly owners: readonly OwnerReference[]
  readonly isDying: boolean
  readonly isForeground: boolean
}

const OWNED = Buffer.from('"ownerReferences":')
const ENDING = Buffer.from('"deletionTimestamp":')
/** New objects read in one turn of the event loop. */
const READ_AT_ONCE = 200
/** Parallel deletions: each may wait for a webhook. */
const WORKERS = 50

export class GarbageCollector {
  readonly #parts: ServerParts
  readonly #ties = new WeakMap<Stored, Ties>()
  /** Versions without owners that are not being deleted: most of all. */
  readonly #free = new WeakSet<Stored>()

  readonly #collections: Collections

  constructor(parts: ServerParts, log: Logger) {
    this.#parts = parts
    this.#collections = new Collections(parts, log)
  }

  /** When a refused deletion is to be retried. */
  async look(): Promise<number | undefined> {
    const graph = await this.#graph()
    const owned = [...graph.owned]
    for (let i = 0; i < owned.length; i += WORKERS)
      await Promise.all(owned.slice(i, i + WORKERS).map(([s, served]) => this.#considerDependent(served, s)))
    for (const s of graph.dying) await considerDying(this.#parts, graph, s)
    return this.#collections.retryInMs(new Set(owned.map(([s]) => this.#tiesOf(s).uid ?? '')))
  }

  #tiesOf(s: Stored): Ties {
    let ties = this.#ties.get(s)
    if (ties === undefined) {
      const { metadata } = s.value
      ties = {
        uid: metadata.uid,
        owners: metadata.ownerReferences ?? [],
        isDying: metadata.deletionTimestamp !== undefined,
        isForeground: has(s.value, FOREGROUND),
      }
      this.#ties.set(s, ties)
    }
    return ties
  }

  /** Few objects have owners or are being deleted: the others are not even parsed. */
  #isFree(s: Stored): boolean {
    if (this.#free.has(s)) return true
    if (s.bytes.includes(OWNED) || s.bytes.includes(ENDING)) return false
    this.#free.add(s)
    return true
  }

  async #graph(): Promise<Graph> {
    const { registry, store } = this.#parts
    const dependents = new Map<string, Stored[]>()
    const owned = new Map<Stored, Served>()
    const dying: Stored[] = []
    let read = 0
    for (const served of registry.stored())
      for (const s of store.collection(served.resource).snapshot()) {
        const isNew = !this.#free.has(s) && !this.#ties.has(s)
        if (isNew && ++read % READ_AT_ONCE === 0) await nextTurn()
        if (this.#isFree(s)) continue
        const { owners, isDying } = this.#tiesOf(s)
        if (isDying) dying.push(s)
        if (owners.length > 0) owned.set(s, served)
        for (const o of owners) {
          const list = dependents.get(o.uid) ?? []
          list.push(s)
          dependents.set(o.uid, list)
        }
      }
    return { dependents, owned, dying }
  }

  /** An owner exists when there is an object of that kind, name and uid. A kind that we do not serve is not judged. */
  #ownerOf(dependent: Stored, o: OwnerReference): Owner {
    const served = this.#parts.registry.findKind(o.apiVersion, o.kind)
    if (served === undefined) return { state: 'unknown' }
    const namespace = served.type.namespaced ? dependent.namespace : ''
    const found = this.#parts.store.latest({ resource: served.resource, namespace, name: o.name })
    const ties = found === undefined ? undefined : this.#tiesOf(found)
    return ties?.uid === o.uid && ties !== undefined ? { state: 'lives', ties } : { state: 'gone' }
  }

  async #considerDependent(served: Served, seen: Stored): Promise<void> {
    const s = this.#parts.store.latest(seen)
    if (s === undefined) return
    const { owners: references, isDying } = this.#tiesOf(s)
    if (references.length === 0 || isDying) return
    const owners = references.map((o) => ({ uid: o.uid, owner: this.#ownerOf(s, o) }))
    if (owners.some(({ owner }) => owner.state === 'unknown')) return
    const isWaiting = (owner: Owner) => owner.state === 'lives' && owner.ties.isDying && owner.ties.isForeground
    const solid = owners.filter(({ owner }) => owner.state === 'lives' && !isWaiting(owner))
    if (solid.length === 0) {
      const how = owners.some(({ owner }) => isWaiting(owner)) ? 'Foreground' : 'Background'
      await this.#collections.delete(served, s, how)
      return
    }
    const dangling = owners.filter((x) => !solid.includes(x)).map(({ uid }) => uid)
    if (dangling.length > 0) await dropOwners(this.#parts, s, dangling)
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const has = (o: KubeObject, finalizer: string): boolean => (o.metadata.finalizers ?? []).includes(finalizer)

type Owner = { readonly state: 'gone' | 'unknown' } | { readonly state: 'lives'; readonly ties: Ties }

async function dropOwners({ store }: ServerParts, s: Stored, uids: readonly string[]): Promise<void> {
  await storeObject(store, s, (o) => {
    const left = (o.metadata.ownerReferences ?? []).filter((r) => !uids.includes(r.uid))
    const { ownerReferences: _, ...metadata } = o.metadata
    return { ...o, metadata: left.length === 0 ? metadata : { ...metadata, ownerReferences: left } }
  })
}

async function considerDying(parts: ServerParts, graph: Graph, s: Stored): Promise<void> {
  const object = parts.store.latest(s)?.value
  if (object?.metadata.deletionTimestamp === undefined) return
  const uid = object.metadata.uid ?? ''
  const dependents = (graph.dependents.get(uid) ?? []).filter((d) => parts.store.latest(d) !== undefined)
  if (has(object, ORPHAN)) {
    for (const d of dependents) await dropOwners(parts, d, [uid])
    await dropFinalizer(parts, s, ORPHAN)
  } else if (has(object, FOREGROUND)) {
    const blocking = dependents.filter((d) => blocks(parts.store.latest(d)?.value, uid))
    if (blocking.length === 0) await dropFinalizer(parts, s, FOREGROUND)
  }
}

const blocks = (o: KubeObject | undefined, uid: string): boolean =>
  (o?.metadata.ownerReferences ?? []).some((r) => r.uid === uid && r.blockOwnerDeletion === true)

async function dropFinalizer({ store }: ServerParts, s: Stored, finalizer: string): Promise<void> {
  await storeObject(store, s, (o) => {
    const left = (o.metadata.finalizers ?? []).filter((f) => f !== finalizer)
    const { finalizers: _, ...metadata } = o.metadata
    return { ...o, metadata: left.length === 0 ? metadata : { ...metadata, finalizers: left } }
  })
}
