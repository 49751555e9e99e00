// Learns from the kernel which names in a folder changed. Costs nothing while nothing changes; but events get lost, so callers must also check by themselves,
// only less often.
import { watch } from 'node:fs'
import { basename } from 'node:path'

/** `name`: undefined when the change is unknown, or when the folder itself changed and may no longer be watched. */
export type OnName = (name: string | undefined) => void

/** Undefined: no events will arrive, since the folder does not exist or no watch is left. */
export type WatchFolder = (folder: string, onName: OnName) => { close(): void } | undefined

export const watchFolder: WatchFolder = (folder, onName) => {
  try {
    const watcher = watch(folder, { persistent: false }, (_event, name) => {
      // The folder itself is reported under its own name.
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
