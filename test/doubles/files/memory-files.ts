// A file system in memory that can lose its power before any change: what was not synced is then lost the way real disks lose it.
// For tests and hollow agents.
import type { Files, FileStat, FileWriter, Owner } from '#agent/files/port.ts'

const ROOT: Owner = { uid: 0, gid: 0 }

interface FileNode {
  readonly kind: 'File'
  readonly mode: number
  readonly owner: Owner
  modifiedMs: number
  data: Buffer
  durable: Buffer
}
interface LinkNode {
  readonly kind: 'Link'
  readonly target: string
  readonly owner: Owner
}
interface FolderNode {
  readonly kind: 'Directory'
  readonly entries: Map<string, Node>
  durable: Map<string, Node>
}
type Node = FileNode | LinkNode | FolderNode

/**
 * Kill: the process died, the kernel lives, so nothing is lost. Power: only synced data is left.
 * Reordered: names reached the disk and contents did not, as journaled file systems may do it.
 */
export type CrashMode = 'Kill' | 'Power' | 'Reordered'

/** Thrown in place of the change at which the test cuts the power, and by everything after it. */
class PowerLost extends Error {}

const folder = (): FolderNode => ({ kind: 'Directory', entries: new Map(), durable: new Map() })

export class MemoryFiles implements Files {
  readonly #root: FolderNode
  #crashAt: number
  #changes = 0
  #dead = false
  readonly #now: () => number

  constructor({
    crashAt = Number.POSITIVE_INFINITY,
    root = folder(),
    now = () => 0,
  }: { readonly crashAt?: number; readonly root?: FolderNode; readonly now?: () => number } = {}) {
    this.#crashAt = crashAt
    this.#root = root
    this.#now = now
  }

  /** Changes made so far; a test loops over them. */
  get changes(): number {
    return this.#changes
  }

  get isDead(): boolean {
    return this.#dead
  }

  crashBefore(change: number): void {
    this.#crashAt = change
  }

  /** The same disk, with all that it holds synced. */
  durable(): MemoryFiles {
    return new MemoryFiles({ root: survivor(this.#root, 'Kill'), now: this.#now })
  }

  /** The disk as the next start finds it. */
  afterCrash(mode: CrashMode): MemoryFiles {
    this.#dead = true
    return new MemoryFiles({ root: survivor(this.#root, mode), now: this.#now })
  }

  async read(path: string): Promise<Buffer | undefined> {
    const node = this.#follow(path)
    return node === undefined ? undefined : node.kind === 'File' ? Buffer.from(node.data) : Buffer.alloc(0)
  }

  async *stream(path: string): AsyncIterable<Buffer> {
    const node = this.#follow(path)
    if (node?.kind !== 'File') throw refused('read', path, node === undefined ? 'not found' : 'it is a folder')
    yield Buffer.from(node.data)
  }

  async stat(path: string): Promise<FileStat | undefined> {
    const node = this.#find(path)
    if (node === undefined) return undefined
    const size = node.kind === 'File' ? node.data.length : 0
    const modifiedMs = node.kind === 'File' ? node.modifiedMs : 0
    const owner = node.kind === 'Directory' ? ROOT : node.owner
    return { kind: node.kind, size, modifiedMs, mode: node.kind === 'File' ? node.mode : 0o755, owner }
  }

  async list(path: string): Promise<readonly string[]> {
    const node = this.#follow(path)
    return node?.kind === 'Directory' ? [...node.entries.keys()].sort() : []
  }

  async readLink(path: string): Promise<string | undefined> {
    const node = this.#find(path)
    return node?.kind === 'Link' ? node.target : undefined
  }

  async makeFolder(path: string): Promise<void> {
    let at = this.#root
    for (const name of partsOf(path)) {
      const next = at.entries.get(name)
      if (next === undefined) {
        this.#change()
        const made = folder()
        at.entries.set(name, made)
        at = made
      } else {
        const real = next.kind === 'Link' ? this.#follow(next.target) : next
        if (real?.kind !== 'Directory') throw refused('make the folder', path, 'a file is in the way')
        at = real
      }
    }
  }

  async create(path: string, mode: number, owner = ROOT): Promise<FileWriter> {
    const { parent, name } = this.#place(path)
    if (parent.entries.has(name)) throw refused('create', path, 'already exists')
    this.#change()
    const node: FileNode = {
      kind: 'File',
      mode,
      owner,
      modifiedMs: this.#now(),
      data: Buffer.alloc(0),
      durable: Buffer.alloc(0),
    }
    parent.entries.set(name, node)
    return this.#writer(node)
  }

  async copyWhole(from: string, to: string): Promise<boolean> {
    const node = this.#find(from)
    if (node === undefined || node.kind === 'Directory') return false
    const { parent, name } = this.#place(to)
    if (parent.entries.has(name)) throw refused('copy to', to, 'already exists')
    // Its name may be there before its content is.
    this.#change()
    if (node.kind === 'Link') {
      parent.entries.set(name, { ...node })
      return true
    }
    const made: FileNode = { ...node, durable: Buffer.alloc(0) }
    parent.entries.set(name, made)
    this.#change()
    made.durable = made.data
    return true
  }

  async append(path: string): Promise<FileWriter> {
    const node = this.#follow(path)
    if (node?.kind !== 'File') throw refused('append to', path, 'not a file')
    return this.#writer(node)
  }

  #writer(node: FileNode): FileWriter {
    return {
      write: async (chunk) => {
        this.#change()
        node.data = Buffer.concat([node.data, chunk])
        node.modifiedMs = this.#now()
      },
      sync: async () => {
        this.#change()
        node.durable = node.data
      },
      close: async () => undefined,
    }
  }

  async link(path: string, target: string, owner = ROOT): Promise<void> {
    const { parent, name } = this.#place(path)
    if (parent.entries.has(name)) throw refused('link', path, 'already exists')
    this.#change()
    parent.entries.set(name, { kind: 'Link', target, owner })
  }

  async rename(from: string, to: string): Promise<void> {
    const [a, b] = [this.#place(from), this.#place(to)]
    const node = a.parent.entries.get(a.name)
    if (node === undefined) throw refused('rename', from, 'not found')
    const there = b.parent.entries.get(b.name)
    if (there?.kind === 'Directory' && there.entries.size > 0) throw refused('rename', to, 'a folder is in the way')
    this.#change()
    a.parent.entries.delete(a.name)
    b.parent.entries.set(b.name, node)
  }

  async remove(path: string): Promise<void> {
    const node = this.#find(path)
    if (node === undefined) return
    // As a real disk does it: from the bottom up, and the power may fail in the middle.
    if (node.kind === 'Directory')
      for (const name of [...node.entries.keys()].sort().reverse()) await this.remove(`${path}/${name}`)
    const { parent, name } = this.#place(path)
    this.#change()
    parent.entries.delete(name)
  }

  async removeEmptyFolder(path: string): Promise<boolean> {
    const node = this.#find(path)
    if (node?.kind !== 'Directory' || node.entries.size > 0) return false
    await this.remove(path)
    return true
  }

  async syncFolder(path: string): Promise<void> {
    const node = this.#follow(path)
    if (node?.kind !== 'Directory') throw refused('sync', path, 'not a folder')
    this.#change()
    node.durable = new Map(node.entries)
  }

  #change(): void {
    if (this.#dead || this.#changes >= this.#crashAt) {
      this.#dead = true
      throw new PowerLost('the power went')
    }
    this.#changes++
  }

  #place(path: string): { parent: FolderNode; name: string } {
    const parts = partsOf(path)
    const name = parts.at(-1)
    const parent = this.#follow(`/${parts.slice(0, -1).join('/')}`)
    if (name === undefined || parent?.kind !== 'Directory')
      throw refused('find', path, 'the parent folder does not exist')
    return { parent, name }
  }

  /** Follows links on the way, but not one at the end. */
  #find(path: string): Node | undefined {
    const parts = partsOf(path)
    let node: Node | undefined = this.#root
    for (const name of parts) {
      if (node?.kind === 'Link') node = this.#follow(node.target)
      if (node?.kind !== 'Directory') return undefined
      node = node.entries.get(name)
    }
    return node
  }

  #follow(path: string): Node | undefined {
    const node = this.#find(path)
    if (node?.kind !== 'Link') return node
    const base = path.slice(0, path.lastIndexOf('/'))
    return this.#follow(node.target.startsWith('/') ? node.target : `${base}/${node.target}`)
  }
}

const partsOf = (path: string): string[] => {
  const out: string[] = []
  for (const p of path.split('/')) {
    if (p === '' || p === '.') continue
    if (p === '..') out.pop()
    else out.push(p)
  }
  return out
}

const refused = (what: string, path: string, why: string) => new Error(`cannot ${what} ${path}: ${why}`)

function survivor(node: FolderNode, mode: CrashMode): FolderNode {
  const made = folder()
  const entries = mode === 'Power' ? node.durable : node.entries
  for (const [name, child] of entries) {
    const kept = survivorOf(child, mode)
    made.entries.set(name, kept)
    made.durable.set(name, kept)
  }
  return made
}

function survivorOf(node: Node, mode: CrashMode): Node {
  if (node.kind === 'Link') return node
  if (node.kind === 'Directory') return survivor(node, mode)
  const data = mode === 'Kill' ? node.data : node.durable
  return { kind: 'File', mode: node.mode, owner: node.owner, modifiedMs: node.modifiedMs, data, durable: data }
}
