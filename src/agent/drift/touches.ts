// Watches the files of each component for changes. Files that cannot be watched are checked periodically instead.
import { basename, dirname, join } from 'node:path'
import { layoutOf } from '../components/layout.ts'
import type { Files } from '../files/port.ts'
import type { WatchFolder } from '../files/folder-watch.ts'
import { onNode, slotFolder, type NodeDir } from '../node-dir.ts'
import { closelyWatched, type InUse } from './inspect.ts'

/** Each folder uses a kernel watch; a host has a few thousand for all programs. */
const MAX_FOLDERS = 64

export interface TouchesDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly watchFolder?: WatchFolder
  readonly onTouched: (component: string) => void
}

export class Touches {
  readonly #deps: TouchesDeps
  readonly #watchers = new Map<string, readonly { close(): void }[]>()

  constructor(deps: TouchesDeps) {
    this.#deps = deps
  }

  /** Rebuilt every time, because folders are created and deleted. Returns whether every change will be reported. */
  async listen(inUse: InUse, unitFile: string | undefined): Promise<boolean> {
    const { component } = inUse
    this.forget(component)
    const { watchFolder, onTouched } = this.#deps
    if (watchFolder === undefined) return false
    const names = await this.#names(inUse, unitFile)
    if (names.size > MAX_FOLDERS) return false
    const watchers: { close(): void }[] = []
    for (const [folder, wanted] of names) {
      const watcher = watchFolder(folder, (name) => {
        if (name === undefined || wanted.has(name)) onTouched(component)
      })
      if (watcher !== undefined) watchers.push(watcher)
    }
    this.#watchers.set(component, watchers)
    return watchers.length === names.size
  }

  forget(component: string): void {
    for (const watcher of this.#watchers.get(component) ?? []) watcher.close()
    this.#watchers.delete(component)
  }

  close(): void {
    for (const component of this.#watchers.keys()) this.forget(component)
  }

  /** Watched names, by folder. */
  async #names(inUse: InUse, unitFile: string | undefined): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const { dir } = this.#deps
    const slot = slotFolder(dir, inUse.component, inUse.slot)
    const paths = [
      ...layoutOf(inUse.spec).links.map((l) => onNode(dir, l.path)),
      ...closelyWatched(inUse).map((f) => join(slot, f.path)),
      ...(unitFile === undefined ? [] : [unitFile]),
    ]
    const names = new Map<string, Set<string>>()
    for (const path of paths) {
      const watched = await this.#hearable(path)
      const known = names.get(dirname(watched)) ?? new Set()
      names.set(dirname(watched), known.add(basename(watched)))
    }
    return names
  }
  /** For a missing path: the nearest ancestor folder that reports its creation. */
  async #hearable(path: string): Promise<string> {
    let watched = path
    while (watched !== '/' && (await this.#deps.files.stat(dirname(watched))) === undefined) watched = dirname(watched)
    return watched
  }
}
