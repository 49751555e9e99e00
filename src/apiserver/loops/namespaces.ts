// Terminating namespaces: everything in them is deleted, then their own finalizer is removed.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ServerParts } from '../handlers/context.ts'
import { storeObject } from '../storage/internal-write.ts'
import type { Stored } from '../storage/stored.ts'
import { deleteQuietly } from './delete-quietly.ts'

const KUBERNETES = 'kubernetes'
/** Parallel deletions. */
const WORKERS = 50

export async function settleNamespaces(parts: ServerParts): Promise<void> {
  for (const s of parts.store.collection('/namespaces').snapshot())
    if (s.value.metadata.deletionTimestamp !== undefined) await empty(parts, s)
}

async function empty(parts: ServerParts, s: Stored): Promise<void> {
  const { store, registry } = parts
  const content = () =>
    registry
      .stored()
      .filter((served) => served.type.namespaced)
      .flatMap((served) => store.collection(served.resource).snapshot(s.name))
  const found = content()
  for (let i = 0; i < found.length; i += WORKERS)
    await Promise.all(found.slice(i, i + WORKERS).map((o) => deleteQuietly(parts, o, 'Background')))
  const left = content()
  if (left.length > 0) return
  await storeObject(store, s, withoutKubernetes)
}

function withoutKubernetes(o: KubeObject): KubeObject {
  const spec = isObject(o['spec']) ? o['spec'] : {}
  const finalizers = Array.isArray(spec['finalizers']) ? spec['finalizers'].filter((f) => f !== KUBERNETES) : []
  return { ...o, spec: finalizers.length === 0 ? {} : { ...spec, finalizers } }
}
