// The files of a download as data: one tree from one or more archives, where later layers replace and delete files of earlier ones. Links are only followed
// inside the tree; nothing here touches a disk.

export interface TreeFile {
  readonly kind: 'File'
  readonly path: string
  /** Its archive, and its path inside. */
  readonly layer: number
  readonly mode: number
  readonly size: number
  /** Set for small texts that decisions depend on. */
  readonly content?: Buffer
}

interface TreeLink {
  readonly kind: 'Link'
  readonly path: string
  readonly target: string
}

interface TreeOther {
  readonly kind: 'Other'
  readonly path: string
}

export type TreeEntry = TreeFile | TreeLink | TreeOther

interface Place {
  entry: TreeEntry | undefined
  /** The archive has its own entry for this folder. */
  isFolder?: true
  readonly inner: Map<string, Place>
}

/** More is a loop. */
const MAX_LINKS = 40

export class FileTree {
  readonly #root: Place = newPlace()

  put(entry: TreeEntry): void {
    const place = this.#placeAt(entry.path)
    place.entry = entry
    place.inner.clear()
  }

  /** A folder may replace a file of an earlier layer. */
  folder(path: string): void {
    const place = this.#placeAt(path)
    place.entry = undefined
    place.isFolder = true
  }

  /** Empty folders, which programs may expect. */
  emptyFolders(): readonly string[] {
    const found: string[] = []
    const walk = ({ entry, isFolder, inner }: Place, path: string): void => {
      if (entry === undefined && isFolder === true && inner.size === 0) found.push(path)
      for (const [name, place] of inner) walk(place, path === '' ? name : `${path}/${name}`)
    }
    walk(this.#root, '')
    return found.toSorted()
  }

  remove(path: string): void {
    const parts = path.split('/')
    const name = parts.pop() ?? ''
    this.#find(parts)?.inner.delete(name)
  }

  /** Removes the content of a folder; the folder stays. */
  clear(path: string): void {
    this.#find(path.split('/').filter((p) => p !== ''))?.inner.clear()
  }

  at(path: string): TreeEntry | undefined {
    return this.#find(path.split('/'))?.entry
  }

  /** The file at a path, also through links of parent folders. */
  file(path: string): TreeFile | undefined {
    let todo = path.split('/').filter((p) => p !== '' && p !== '.')
    let done: string[] = []
    for (let links = 0; ;) {
      const [next, ...rest] = todo
      if (next === undefined) {
        const entry = this.#find(done)?.entry
        return entry?.kind === 'File' ? entry : undefined
      }
      todo = rest
      if (next === '..') {
        done.pop()
        continue
      }
      const entry = this.#find([...done, next])?.entry
      if (entry?.kind !== 'Link') {
        done = [...done, next]
        continue
      }
      if (++links > MAX_LINKS) return undefined
      if (entry.target.startsWith('/')) done = []
      todo = [...entry.target.split('/').filter((p) => p !== '' && p !== '.'), ...todo]
      if (todo.length > MAX_LINKS * MAX_LINKS) return undefined
    }
  }

  /** Sorted by path. */
  entries(): readonly TreeEntry[] {
    const found: TreeEntry[] = []
    const walk = ({ entry, inner }: Place): void => {
      if (entry !== undefined) found.push(entry)
      for (const place of inner.values()) walk(place)
    }
    walk(this.#root)
    return found.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  }

  #find(parts: readonly string[]): Place | undefined {
    let at: Place | undefined = this.#root
    for (const part of parts) at = at?.inner.get(part)
    return at
  }

  #placeAt(path: string): Place {
    let at = this.#root
    for (const part of path.split('/')) {
      let next = at.inner.get(part)
      if (next === undefined) at.inner.set(part, (next = newPlace()))
      at = next
    }
    return at
  }
}

const newPlace = (): Place => ({ entry: undefined, inner: new Map() })
