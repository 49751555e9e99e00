// A backend that keeps nothing: for tests and for servers that may forget.
import type { StorageBackend } from './port.ts'

export const memoryStorage = (): StorageBackend => ({
  load: () => ({ revision: 0, objects: [] }),
  commit: () => Promise.resolve(),
  close: () => Promise.resolve(),
})
