// The fake's memory: objects by kind at the newest revision, and the commits of the recent past, from which any state inside the window can be rebuilt.
import type { KubeObject } from '#api/schema/object.ts'
import type { Call } from './faults.ts'

export interface Commit {
  readonly revision: number
  readonly kind: string
  /** `namespace/name` or `name`. */
  readonly key: string
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** The state after; for DELETED the last state, with the revision of the deletion. */
  readonly object: KubeObject
  readonly previous: KubeObject | undefined
  /** The writer; undefined for objects that a test planted directly. */
  readonly call: Call | undefined
}

interface Shelf {
  readonly objects: Map<string, KubeObject>
  readonly history: Commit[]
  /** History up to and including this revision is forgotten. */
  floor: number
  sortedKeys: readonly string[] | undefined
}

/** History is cut in chunks, since cutting one at a time moves the whole array. */
const CUT_CHUNK = 1_024

export class Revisions {
  #revision = 1
  readonly #shelves = new Map<string, Shelf>()
  readonly #window: number

  /** `window`: commits remembered per kind. */
  constructor(window: number) {
    this.#window = window
  }

  get current(): number {
    return this.#revision
  }

  /** The revision that the next commit will have; a commit of any kind uses it up. */
  get next(): number {
    return this.#revision + 1
  }

  object(kind: string, key: string): KubeObject | undefined {
    return this.#shelves.get(kind)?.objects.get(key)
  }

  objects(kind: string): ReadonlyMap<string, KubeObject> {
    return this.#shelf(kind).objects
  }

  floor(kind: string): number {
    return this.#shelf(kind).floor
  }

  sortedKeys(kind: string): readonly string[] {
    const shelf = this.#shelf(kind)
    shelf.sortedKeys ??= [...shelf.objects.keys()].sort()
    return shelf.sortedKeys
  }

  commit(commit: Commit): void {
    const shelf = this.#shelf(commit.kind)
    this.#revision = commit.revision
    if (commit.type === 'DELETED') shelf.objects.delete(commit.key)
    else shelf.objects.set(commit.key, commit.object)
    if (commit.type !== 'MODIFIED') shelf.sortedKeys = undefined
    shelf.history.push(commit)
    if (shelf.history.length >= this.#window + CUT_CHUNK) this.#cut(shelf, shelf.history.length - this.#window)
  }

  /** Commits after the revision, oldest first. The caller has checked `floor`. */
  since(kind: string, revision: number): readonly Commit[] {
    const { history } = this.#shelf(kind)
    let low = 0
    let high = history.length
    while (low < high) {
      const mid = (low + high) >>> 1
      if ((history[mid]?.revision ?? 0) <= revision) low = mid + 1
      else high = mid
    }
    return history.slice(low)
  }

  /** The state at a revision inside the window. */
  stateAt(kind: string, revision: number): ReadonlyMap<string, KubeObject> {
    const shelf = this.#shelf(kind)
    const undo = this.since(kind, revision)
    if (undo.length === 0) return shelf.objects
    const state = new Map(shelf.objects)
    for (const c of undo.toReversed()) {
      if (c.previous === undefined) state.delete(c.key)
      else state.set(c.key, c.previous)
    }
    return state
  }

  /** Forgets history up to and including the revision, for every kind, as etcd's compaction does. */
  compact(revision: number): void {
    for (const shelf of this.#shelves.values()) {
      const keep = shelf.history.findIndex((c) => c.revision > revision)
      shelf.history.splice(0, keep < 0 ? shelf.history.length : keep)
      shelf.floor = Math.max(shelf.floor, Math.min(revision, this.#revision))
    }
  }

  #cut(shelf: Shelf, count: number): void {
    const last = shelf.history[count - 1]
    shelf.history.splice(0, count)
    if (last !== undefined) shelf.floor = last.revision
  }

  #shelf(kind: string): Shelf {
    let shelf = this.#shelves.get(kind)
    if (shelf === undefined) {
      shelf = { objects: new Map(), history: [], floor: 0, sortedKeys: undefined }
      this.#shelves.set(kind, shelf)
    }
    return shelf
  }
}
