// A repository on this machine. Every size and count is checked before inflating, and hostile trees are refused.
import { shortCommit } from '#api/protocol/commit-title.ts'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { locateGit, type GitFolder } from './locate.ts'
import { Damaged } from './objects/inflate.ts'
import { ObjectStore, TooLarge, type GitObject } from './objects/object-store.ts'
import { datedWithin, parseCommit, tagTarget } from './objects/parse-commit.ts'
import type { Commit, GitRepository, ReadLimits } from './repository.ts'
import { parseRevision, refFileName } from './revision.ts'
import { parseTree, type TreeEntry } from './tree-entries.ts'
import { syncErrors } from '../sync-errors.ts'
import { counted } from '#lib/counted.ts'
import { entriesBelow, isRealFolder } from '#lib/entries-below.ts'
import { printableLine } from '#lib/printable.ts'

/**
 * A fleet of a thousand clusters has a few hundred files, next to sources of components. Folders are counted on all paths: a folder that contains
 * another one ten times, level by level, is small on disk but endless to read.
 */
const DEFAULT_LIMITS = {
  maxFiles: 20_000,
  maxEntries: 100_000,
  maxFileBytes: 8 * 1024 * 1024,
  maxBytes: 64 * 1024 * 1024,
}
const MAX_DEPTH = 32
/** Ten times the longest real message; leaves room for many parents. */
const MAX_COMMIT_BYTES = 1024 * 1024
/** More than 10,000 entries with long names. */
const MAX_TREE_BYTES = 4 * 1024 * 1024
/** Nesting of tags of tags; deeper ones do not occur in practice. */
const MAX_TAGS = 8
/** Git knows this tree without storing it. */
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
/**
 * Reading blocks the event loop. Yields after this many files and folders, this many bytes, or this much time: an object may be far more work than its
 * size suggests.
 */
const ENTRIES_IN_A_ROW = 64
const MS_IN_A_ROW = 20
const BYTES_IN_A_ROW = 1024 * 1024
/** Parsing one folder entry takes as long as reading this many bytes of a file. */
const BYTES_OF_ENTRY = 512
const DEFAULT_DEADLINE_MS = 30_000
/** A parser's message may quote the commit, and HEAD may contain anything. */
const MAX_WHY = 300
const COMMIT_ID = /^[0-9a-f]{40}$/
/** Commits that polls and trust checks read again and again: the heads of a few tracks, and the commits in between. */
const KEPT_COMMITS = 64
/** A longer message is not a real one; it is parsed every time instead of being cached. */
const MAX_KEPT_BYTES = 16 * 1024

export interface LocalOptions {
  readonly clock?: Clock
  readonly deadlineMs?: number
  /** Also searches the parent folders for .git. */
  readonly above?: boolean
  /** The URL of the copied repository: users know it by that. */
  readonly copyOf?: string
}

export function openLocalRepository(url: string, options: LocalOptions = {}): LocalRepository {
  return new LocalRepository(url, locateGit(url, options), options)
}

export class LocalRepository implements GitRepository {
  readonly name: string
  /** Where the repository is, for users who search for missing or damaged data. */
  readonly #place: string
  readonly folder: GitFolder
  readonly #clock: Clock
  readonly #deadlineMs: number
  readonly #objects: ObjectStore

  constructor(
    place: string,
    folder: GitFolder,
    { clock = systemClock, deadlineMs = DEFAULT_DEADLINE_MS, copyOf }: LocalOptions,
  ) {
    this.name = copyOf ?? place
    this.#place = place
    this.folder = folder
    this.#objects = new ObjectStore(join(folder.commonDir, 'objects'))
    this.#clock = clock
    this.#deadlineMs = deadlineMs
  }

  /** Only checks that it is a commit; reads parents where the revision asks for them. */
  async resolve(revision: string): Promise<string> {
    const { base, steps } = parseRevision(revision)
    let id = this.#peeled(await this.#named(base)).oid
    for (const step of steps) {
      const { parents } = await this.commit(id)
      const next = parents[step - 1]
      if (next === undefined)
        throw new KubeNodeError(
          syncErrors.KN7010({
            revision,
            repository: this.name,
            commit: shortCommit(id),
            parents: parents.length === 0 ? 'no parent' : `only ${counted(parents.length, 'parent')}`,
          }),
        )
      id = this.#peeled(next).oid
    }
    return id
  }

  async commit(id: string): Promise<Commit> {
    const { oid, object } = this.#peeled(id)
    const { parent, committer, author, message } = await this.#parsed(oid, object)
    return {
      id: oid,
      parents: parent,
      time: datedWithin(committer.timestamp),
      message,
      author: `${author.name} <${author.email}>`,
    }
  }

  /** A name may be an annotated tag. */
  #peeled(id: string): { readonly oid: string; readonly object: GitObject } {
    let oid = id
    for (let i = 0; i < MAX_TAGS; i++) {
      const object = this.#object(oid, MAX_COMMIT_BYTES, `commit ${id}`)
      if (object.type === 'commit') return { oid, object }
      const target = object.type === 'tag' ? tagTarget(object) : undefined
      if (target === undefined) break
      oid = target
    }
    throw new KubeNodeError(syncErrors.KN7015_type({ path: this.#place, object: id, type: 'commit' }))
  }

  readonly #commits = new Map<string, Awaited<ReturnType<typeof parseCommit>>>()

  /** The bytes were just read and checked against the id, so the cached result is valid: a poll parses the head of its branch once. */
  async #parsed(oid: string, object: GitObject) {
    const known = this.#commits.get(oid)
    if (known !== undefined) return known
    try {
      const parsed = await parseCommit(object)
      if (object.content.length <= MAX_KEPT_BYTES) this.#commits.set(oid, parsed)
      for (const old of [...this.#commits.keys()].slice(0, -KEPT_COMMITS)) this.#commits.delete(old)
      return parsed
    } catch (cause) {
      throw new KubeNodeError(
        syncErrors.KN7007({
          what: `commit ${oid}`,
          repository: this.#place,
          why: printableLine(messageOf(cause).split('\n')[0] ?? '').slice(0, MAX_WHY),
        }),
        { retry: 'later', cause },
      )
    }
  }

  async log(id: string, limit: number): Promise<readonly Commit[]> {
    const out: Commit[] = []
    for (let next: string | undefined = id; next !== undefined && out.length < limit;) {
      const commit: Commit = await this.commit(next)
      out.push(commit)
      next = commit.parents[0]
    }
    return out
  }

  async idAt(commit: string, path: string): Promise<string | undefined> {
    return (await this.#entryAt(commit, path))?.oid
  }

  async readTree(
    commit: string,
    folders: readonly string[],
    limits: ReadLimits = {},
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    return (await this.readFiles(commit, folders, limits)).files
  }

  /** Like `readTree`, plus the paths of executable files. */
  async readFiles(commit: string, folders: readonly string[], limits: ReadLimits = {}): Promise<TreeFiles> {
    const walk: Walk = {
      commit,
      files: new Map(),
      executable: new Set(),
      withoutFiles: new Set(),
      blobs: new Map(),
      trees: new Map(),
      entries: 0,
      bytes: 0,
      inARow: { entries: 0, bytes: 0, since: this.#clock.monotonic() },
      limits: { ...DEFAULT_LIMITS, ...limits },
      until: this.#clock.monotonic() + this.#deadlineMs,
    }
    for (const folder of folders) {
      const entry = await this.#entryAt(commit, folder)
      if (entry !== undefined) await this.#walk(walk, entry, folder, 0)
    }
    return walk
  }

  async #walk(walk: Walk, entry: Entry, path: string, depth: number): Promise<void> {
    // Names may contain terminal control characters; escape them before they are displayed.
    const where = printableLine(`${path} of commit ${shortCommit(walk.commit)} in ${this.name}`)
    const now = this.#clock.monotonic()
    if (now > walk.until)
      throw new KubeNodeError(syncErrors.KN1449_slowRead({ where, deadlineMs: this.#deadlineMs }), {
        retry: 'later',
      })
    if (++walk.entries > walk.limits.maxEntries)
      throw tooLarge(where, `is beyond the limit of ${walk.limits.maxEntries} files and folders`)
    const { bytes, since } = walk.inARow
    if (++walk.inARow.entries >= ENTRIES_IN_A_ROW || bytes >= BYTES_IN_A_ROW || now - since >= MS_IN_A_ROW) {
      await setImmediate()
      walk.inARow = { entries: 0, bytes: 0, since: this.#clock.monotonic() }
    }
    if (entry.kind === 'symlink' || entry.kind === 'submodule')
      throw new KubeNodeError(syncErrors.KN7005({ path: where, kind: entry.kind }))
    if (entry.kind === 'file') {
      if (entry.isExecutable === true) walk.executable.add(path)
      return this.#file(walk, entry.oid, path, where)
    }
    if (depth >= MAX_DEPTH) throw tooLarge(where, `is nested deeper than ${MAX_DEPTH} folders`)
    if (walk.withoutFiles.has(entry.oid)) return undefined
    const before = walk.files.size
    for (const child of this.#children(walk, entry.oid, where))
      await this.#walk(walk, child, path === '' ? child.name : `${path}/${child.name}`, depth + 1)
    if (walk.files.size === before) walk.withoutFiles.add(entry.oid)
    return undefined
  }

  async #file(walk: Walk, oid: string, path: string, where: string): Promise<void> {
    const { maxFiles, maxFileBytes, maxBytes } = walk.limits
    if (walk.files.size >= maxFiles) throw tooLarge(where, `is beyond the limit of ${maxFiles} files`)
    const bytes = walk.blobs.get(oid) ?? this.#content(oid, 'blob', where, maxFileBytes)
    walk.blobs.set(oid, bytes)
    walk.inARow.bytes += bytes.length
    walk.bytes += bytes.length
    if (walk.bytes > maxBytes) throw tooLarge(where, `exceeds the total limit of ${maxBytes} bytes`)
    walk.files.set(path, bytes)
  }

  async #entryAt(commit: string, path: string): Promise<Entry | undefined> {
    const { oid, object } = this.#peeled(commit)
    let entry: Entry = { kind: 'tree', oid: (await this.#parsed(oid, object)).tree }
    for (const part of path.split('/').filter((p) => p !== '' && p !== '.')) {
      if (entry.kind !== 'tree') return undefined
      const entries = this.#tree(entry.oid, `commit ${shortCommit(commit)} in ${this.name}`)
      const next = entries.find((e) => e.name === part)
      if (next === undefined) return undefined
      entry = next
    }
    return entry
  }

  #tree(oid: string, where: string): readonly TreeEntry[] {
    return oid === EMPTY_TREE ? [] : parseTree(this.#content(oid, 'tree', where, MAX_TREE_BYTES), where)
  }

  #children(walk: Walk, oid: string, where: string): readonly TreeEntry[] {
    const children = walk.trees.get(oid) ?? this.#tree(oid, where)
    walk.trees.set(oid, children)
    walk.inARow.bytes += children.length * BYTES_OF_ENTRY
    return children
  }

  #content(oid: string, type: 'blob' | 'tree', where: string, limit: number): Uint8Array {
    const found = this.#object(oid, limit, where)
    if (found.type === type) return found.content
    throw new KubeNodeError(syncErrors.KN7015_type({ path: where, object: oid, type }))
  }

  #object(oid: string, limit: number, what: string): GitObject {
    const missing = (why: string, cause?: unknown) =>
      new KubeNodeError(syncErrors.KN7007({ what, repository: this.#place, why }), { retry: 'later', cause })
    try {
      const found = this.#objects.read(oid, limit)
      if (found !== undefined) return found
    } catch (error) {
      if (error instanceof TooLarge) throw tooLarge(what, `is the git object ${oid} and ${error.message}`)
      if (error instanceof Damaged)
        throw new KubeNodeError(
          syncErrors.KN7015_object({ what, repository: this.#place, object: oid, why: error.message }),
        )
      // If a repack removed a pack, the next attempt no longer lists it.
      throw missing(`${oid}: ${messageOf(error)}`, error)
    }
    throw missing(`there is no object ${oid}`)
  }

  /** A commit as stored. */
  commitBytes(id: string): Buffer {
    const { type, content } = this.#object(id, MAX_COMMIT_BYTES, `commit ${id}`)
    if (type === 'commit') return content
    throw new KubeNodeError(syncErrors.KN7015_type({ path: this.#place, object: id, type: 'commit' }))
  }

  /** An annotated tag as stored; undefined if the name points to a commit. */
  async tagBytes(name: string): Promise<Buffer | undefined> {
    const id = await this.#ref(`refs/tags/${name}`)
    if (id === undefined) return undefined
    const { type, content } = this.#object(id, MAX_COMMIT_BYTES, `tag ${name}`)
    return type === 'tag' ? content : undefined
  }

  treeEntries(id: string, where: string): readonly TreeEntry[] {
    return this.#tree(id, `${where} in ${this.name}`)
  }

  fileBytes(id: string, where: string): Uint8Array {
    return this.#content(id, 'blob', `${where} in ${this.name}`, DEFAULT_LIMITS.maxFileBytes)
  }

  async #named(name: string): Promise<string> {
    if (name === 'HEAD') return this.#head()
    if (COMMIT_ID.test(name)) return name
    // A branch may be called refs/tags/v1, and would be mistaken for the tag.
    const refs = name.startsWith('refs/')
      ? [name]
      : [`refs/heads/${name}`, `refs/tags/${name}`, `refs/remotes/${name}`, name]
    for (const ref of refs) {
      const id = await this.#ref(ref)
      if (id !== undefined) return id
    }
    if (/^[0-9a-f]{7,39}$/.test(name)) {
      const ids = this.#objects.idsWithPrefix(name, 2)
      const [id] = ids
      if (ids.length === 1 && id !== undefined) return id
    }
    throw new KubeNodeError(syncErrors.KN1664_read({ revision: JSON.stringify(name), repository: this.name }))
  }

  async #head(): Promise<string> {
    const text = (readSmall(join(this.folder.headDir, 'HEAD')) ?? '').trim()
    if (COMMIT_ID.test(text)) return text
    const branch = text.replace(/^ref:\s*/, '')
    const id = await this.#ref(branch)
    if (id !== undefined) return id
    throw new KubeNodeError(
      syncErrors.KN1209_noCommit({ name: this.name, branch: printableLine(branch).slice(0, MAX_WHY) }),
    )
  }

  /** Loose refs first, as in git; this is the cost of a poll. */
  async #ref(ref: string, hops = 0): Promise<string | undefined> {
    const file = refFileName(ref)
    if (file === undefined || hops > MAX_REF_HOPS) return undefined
    const loose = readSmall(join(this.folder.commonDir, file))?.trim()
    if (loose !== undefined && COMMIT_ID.test(loose)) return loose
    if (loose?.startsWith('ref: ') === true) return this.#ref(loose.slice(5), hops + 1)
    return this.#packed(file)
  }

  #packedRefs: { readonly stamp: string; readonly ids: ReadonlyMap<string, string> } | undefined

  /** Commits by branch name, below this folder of branches. */
  async branches(folder: string): Promise<ReadonlyMap<string, string>> {
    const below = join(this.folder.commonDir, 'refs/heads', folder)
    const loose = isRealFolder(below) ? [...entriesBelow(below)].filter((e) => e.kind === 'File') : []
    const prefix = `refs/heads/${folder}/`
    const packed = [...this.#packedIds().keys()].filter((ref) => ref.startsWith(prefix))
    const names = new Set([...packed, ...loose.map(({ path }) => `${prefix}${path}`)])
    const found = new Map<string, string>()
    for (const ref of names) {
      const id = await this.#ref(ref)
      if (id !== undefined) found.set(ref.slice('refs/heads/'.length), id)
    }
    return found
  }

  #packed(ref: string): string | undefined {
    return this.#packedIds().get(ref)
  }

  #packedIds(): ReadonlyMap<string, string> {
    const file = join(this.folder.commonDir, 'packed-refs')
    const info = statSync(file, { throwIfNoEntry: false })
    if (info === undefined) return new Map()
    const stamp = `${info.ino}:${info.mtimeMs}:${info.size}`
    if (this.#packedRefs?.stamp !== stamp) {
      if (info.size > MAX_PACKED_REFS_BYTES)
        throw tooLarge(file, `has ${info.size} bytes of branches and tags; delete unused ones`)
      const ids = new Map<string, string>()
      for (const [, id = '', name = ''] of readFileSync(file, 'utf8').matchAll(/^([0-9a-f]{40}) (\S+)$/gm))
        ids.set(name, id)
      this.#packedRefs = { stamp, ids }
    }
    return this.#packedRefs.ids
  }
}

type Entry = Pick<TreeEntry, 'kind' | 'oid' | 'isExecutable'>

export interface TreeFiles {
  readonly files: ReadonlyMap<string, Uint8Array>
  readonly executable: ReadonlySet<string>
}

interface Walk extends TreeFiles {
  readonly commit: string
  readonly files: Map<string, Uint8Array>
  readonly executable: Set<string>
  /** Folders without any file at any depth. */
  readonly withoutFiles: Set<string>
  /** Each blob is read once, no matter how many paths it has. */
  readonly blobs: Map<string, Uint8Array>
  readonly trees: Map<string, readonly TreeEntry[]>
  entries: number
  bytes: number
  /** Since the last yield. */
  inARow: { entries: number; bytes: number; since: number }
  readonly limits: Required<ReadLimits>
  readonly until: number
}

/** A million refs take about 70 MB; reading more at each change is not a way to follow one branch. */
const MAX_PACKED_REFS_BYTES = 128 * 1024 * 1024
const MAX_REF_BYTES = 4_096
/** Same as git: symbolic refs can form an endless cycle. */
const MAX_REF_HOPS = 5

function readSmall(file: string): string | undefined {
  const info = statSync(file, { throwIfNoEntry: false })
  return info?.isFile() === true && info.size <= MAX_REF_BYTES ? readFileSync(file, 'utf8') : undefined
}

const tooLarge = (where: string, seen: string): KubeNodeError =>
  new KubeNodeError(syncErrors.KN7114_files({ where, seen }))
