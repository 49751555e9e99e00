// Deletes an object of a namespace that is being deleted; the namespace was checked already: no admission, but finalizers apply as always.
import { timestamp } from '#lib/clock.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ServerParts } from '../handlers/context.ts'
import { encodedAt } from '../storage/internal-write.ts'
import type { Stored } from '../storage/stored.ts'

const ATTEMPTS = 5

export async function deleteQuietly(
  { store, clock }: ServerParts,
  at: Stored,
  propagation: 'Foreground' | 'Background',
): Promise<void> {
  for (let i = 0; i < ATTEMPTS; i++) {
    const stored = store.latest(at)
    if (stored === undefined || stored.value.metadata.uid !== at.value.metadata.uid) return
    const next = dying(stored.value, propagation, clock.now())
    if (next === stored.value) return
    const outcome =
      (next.metadata.finalizers ?? []).length === 0
        ? await store.delete(at, stored, encodedAt(stored.value))
        : await store.put(at, stored, encodedAt(next))
    if ('done' in outcome) return
  }
}

function dying(o: KubeObject, propagation: 'Foreground' | 'Background', now: number): KubeObject {
  if (o.metadata.deletionTimestamp !== undefined) return o
  const finalizers = [...(o.metadata.finalizers ?? []), ...(propagation === 'Foreground' ? ['foregroundDeletion'] : [])]
  const { generation } = o.metadata
  return {
    ...o,
    metadata: {
      ...o.metadata,
      ...(generation === undefined ? {} : { generation: generation + 1 }),
      deletionTimestamp: timestamp(now),
      deletionGracePeriodSeconds: 0,
      ...(finalizers.length === 0 ? {} : { finalizers }),
    },
  }
}
