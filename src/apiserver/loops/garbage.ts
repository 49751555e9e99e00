// Garbage collection by owner references: what nobody owns any more goes; foreground deletion waits for dependents, orphaning
// lets them go. The graph is read from the store as it is, so there is no cache to be wrong.
import type { KubeObject, OwnerReference } from '#schema/object.ts'
import type { ServerParts } from '../handlers/context.ts'
import { storeObject } from '../storage/internal-write.ts'
import type { Stored } from '../storage/stored.ts'
import { deleteQuietly } from './delete-quietly.ts'

const FOREGROUND = 'foregroundDeletion'
const ORPHAN = 'orphan'

interface Graph {
  readonly dependents: ReadonlyMap<string, readonly Stored[]>
  readonly dying: readonly Stored[]
}

const OWNED = Buffer.from('"ownerReferences":')
const ENDING = Buffer.from('"deletionTimestamp":')

/** Few objects have owners or are ending: the others are not even parsed. */
function graphOf({ registry, store }: ServerParts): Graph {
  const dependents = new Map<string, Stored[]>()
  const dying: Stored[] = []
  for (const served of registry.stored())
    for (const s of store.collection(served.resource).list(undefined)) {
      if (s.bytes.includes(ENDING) && s.value.metadata.deletionTimestamp !== undefined) dying.push(s)
      if (!s.bytes.includes(OWNED)) continue
      for (const o of s.value.metadata.ownerReferences ?? []) {
        const list = dependents.get(o.uid) ?? []
        list.push(s)
        dependents.set(o.uid, list)
      }
    }
  return { dependents, dying }
}

export async function collectGarbage(parts: ServerParts): Promise<void> {
  const graph = graphOf(parts)
  for (const s of new Set([...graph.dependents.values()].flat())) await considerDependent(parts, s)
  for (const s of graph.dying) await considerDying(parts, graph, s)
}

const has = (o: KubeObject, finalizer: string): boolean => (o.metadata.finalizers ?? []).includes(finalizer)

type Owner = { readonly state: 'gone' | 'unknown' } | { readonly state: 'lives'; readonly object: KubeObject }

/** An owner lives when there is an object of that kind, name and uid. A kind that we do not serve is not judged. */
function ownerOf(parts: ServerParts, dependent: Stored, o: OwnerReference): Owner {
  const served = parts.registry.findKind(o.apiVersion, o.kind)
  if (served === undefined) return { state: 'unknown' }
  const at = { resource: served.resource, namespace: served.type.namespaced ? dependent.namespace : '', name: o.name }
  const object = parts.store.latest(at)?.value
  return object?.metadata.uid === o.uid ? { state: 'lives', object } : { state: 'gone' }
}

async function considerDependent(parts: ServerParts, s: Stored): Promise<void> {
  const { ownerReferences = [], deletionTimestamp } = s.value.metadata
  if (ownerReferences.length === 0 || deletionTimestamp !== undefined) return
  const owners = ownerReferences.map((o) => ({ uid: o.uid, owner: ownerOf(parts, s, o) }))
  if (owners.some(({ owner }) => owner.state === 'unknown')) return
  const isWaiting = (owner: Owner) =>
    owner.state === 'lives' && owner.object.metadata.deletionTimestamp !== undefined && has(owner.object, FOREGROUND)
  const solid = owners.filter(({ owner }) => owner.state === 'lives' && !isWaiting(owner))
  if (solid.length === 0) {
    await deleteQuietly(parts, s, owners.some(({ owner }) => isWaiting(owner)) ? 'Foreground' : 'Background')
    return
  }
  const dangling = owners.filter((x) => !solid.includes(x)).map(({ uid }) => uid)
  if (dangling.length > 0) await dropOwners(parts, s, dangling)
}

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
