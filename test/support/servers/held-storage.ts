// A store in memory whose commits wait until a test lets them go: what a slow disk does, without time.
import { memoryStorage } from '#apiserver/storage/memory.ts'
import type { StorageBackend } from '#apiserver/storage/port.ts'

export function heldStorage(): { readonly storage: StorageBackend; hold(): void; release(): void } {
  const inner = memoryStorage()
  let held: Promise<void> | undefined
  let free = () => undefined as void
  return {
    storage: {
      load: () => inner.load(),
      commit: async (changes) => {
        await held
        return inner.commit(changes)
      },
      close: () => inner.close(),
    },
    hold: () => {
      held = new Promise((resolve) => (free = resolve))
    },
    release: () => free(),
  }
}
