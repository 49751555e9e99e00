// Tries a write on the newest version of an object until no other writer is faster.
import { conflict, MODIFIED } from '../status/refusal.ts'
import { onceDurable, type Place } from '../storage/store.ts'
import type { Stored } from '../storage/stored.ts'
import type { Call } from './context.ts'
import { groupResource } from './stored-place.ts'

/** Other writers may be faster several times; after this many rounds there must be a bug. */
const ATTEMPTS = 100

/** `once` returns undefined when another writer was faster. Undefined when there is no such object. */
export const untilWritten = <T extends { readonly stored: Stored }>(
  { parts: { store }, served }: Pick<Call, 'parts' | 'served'>,
  at: Place,
  once: (stored: Stored) => Promise<T | undefined>,
): Promise<T | undefined> =>
  onceDurable(store, at, async () => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const stored = store.latest(at)
      if (stored === undefined) return undefined
      const written = await once(stored)
      if (written !== undefined) return written
    }
    throw conflict(groupResource(served), at.name, MODIFIED)
  })
