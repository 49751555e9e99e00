// Hears from the kernel which names in a folder changed. Costs nothing while nothing changes; but events get lost, so whoever listens looks by himself too,
// only seldom.
import { watch } from 'node:fs'
import { basename } from 'node:path'

/** `name`: undefined when it cannot be said what changed, or when the folder itself did and may not be heard of any more. */
export type OnName = (name: string | undefined) => void

/** Undefined: nobody will be told, since there is no such folder or no watch left. */
export type WatchFolder = (folder: string, onName: OnName) => { close(): void } | undefined

export const watchFolder: WatchFolder = (folder, onName) => {
  try {
    const watcher = watch(folder, { persistent: false }, (_event, name) => {
      // The folder itself is told under its own name.
      onName(name === null || name === basename(folder) ? undefined : name)
    })
    watcher.on('error', () => {
      watcher.close()
      onName(undefined)
    })
    return watcher
  } catch {
    return undefined
  }
}
