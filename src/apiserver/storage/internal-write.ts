// Writes of the server itself: straight to the store, without admission or managers, retried when another writer was faster.
import type { KubeObject } from '#api/schema/object.ts'
import { encodeJsonToKeep } from '../codec/json.ts'
import type { Stored } from './stored.ts'
import type { Encoded, Place, Store } from './store.ts'

const ATTEMPTS = 20

export const encodedAt =
  (object: KubeObject) =>
  (revision: number): Encoded => {
    const value = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } }
    return { value, bytes: encodeJsonToKeep(value) }
  }

const isFinished = (o: KubeObject): boolean => {
  const spec = o['spec'] as { readonly finalizers?: readonly string[] } | undefined
  const held = o.kind === 'Namespace' && (spec?.finalizers ?? []).length > 0
  return o.metadata.deletionTimestamp !== undefined && (o.metadata.finalizers ?? []).length === 0 && !held
}

/** Changes an object; nothing is written when `change` returns its input. When the last finalizer is removed, the object is deleted. */
export async function storeObject(
  store: Store,
  at: Place,
  change: (object: KubeObject) => KubeObject,
): Promise<KubeObject | undefined> {
  for (let i = 0; i < ATTEMPTS; i++) {
    const stored = store.latest(at)
    if (stored === undefined) return undefined
    const next = change(stored.value)
    if (next === stored.value) return next
    const outcome = isFinished(next)
      ? await store.delete(at, stored, encodedAt(next))
      : await store.put(at, stored, encodedAt(next))
    if ('done' in outcome) return outcome.done.value
  }
  return undefined
}

/** Removes an object regardless of its finalizers. */
export async function removeObject(store: Store, s: Stored): Promise<void> {
  for (let i = 0; i < ATTEMPTS; i++) {
    const stored = store.latest(s)
    if (stored === undefined) return
    const outcome = await store.delete(s, stored, encodedAt(stored.value))
    if ('done' in outcome) return
  }
}
