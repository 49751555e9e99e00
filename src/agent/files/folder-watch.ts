// Gets kernel events about changed names in a folder. Costs nothing while nothing changes. Events can be lost, so callers must also poll, only less often.
import { watch } from 'node:fs'
import { basename } from 'node:path'

/** `name`: undefined when it is unknown, or when the folder itself changed and may no longer be watched. */
export type OnName = (name: string | undefined) => void

/** Undefined: there will be no events, because the folder does not exist or no watch is left. */
export type WatchFolder = (folder: string, onName: OnName) => { close(): void } | undefined

export const watchFolder: WatchFolder = (folder, onName) => {
  try {
    const watcher = watch(folder, { persistent: false }, (_event, name) => {
      // A change of the folder itself is reported with the folder's own name.
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
