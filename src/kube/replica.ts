// Decides which parts of a list or watch are new, and where a watch resumes. Invariant: an object never goes back to an older version unless a newer list has
// it, and a late event never revives a deleted one.
import type { KubeObject } from '#api/schema/object.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import type { WatchEvent } from './client.ts'
import type { KeptShare } from './kept-bound.ts'
import { PendingWrites, hasOrder } from './pending-writes.ts'
import { compareResourceVersions, isOlder, newerOf } from './resource-version.ts'
import { type Store } from './store.ts'
import { defined } from '#lib/defined.ts'

export interface Change<T extends KubeObject> {
  readonly key: string
  readonly old: T | undefined
  readonly now: T | undefined
}

/** Deletions to remember, so that a late older event does not revive an object. The oldest are dropped. */
const MAX_TOMBSTONES = 10_000
/** No object has a longer name with its namespace, or a longer version: a deletion of one need not be remembered. */
const MAX_TOMBSTONE_CHARS = 400
/** Events that a new watch requests again: an event overtaken on the way arrives twice instead of never. */
const OVERLAP = 16

export class Replica<T extends KubeObject> {
  readonly #store: Store<T>
  readonly #transform: (object: T) => T
  readonly #kept: KeptShare | undefined
  readonly #tombstones = new Map<string, string>()
  readonly #pending = new PendingWrites()
  /** Revisions of the last events, in order of arrival. */
  #recent: string[] = []
  #highest: string | undefined
  #complete: string | undefined
  #overlaps = true
  #listed: Set<string> | undefined
  /** The version of the list in progress. */
  #listedAsOf = ''
  /** The server was restored: its state counts although it is older. */
  #acceptOlder = false

  constructor(store: Store<T>, transform: (object: T) => T, kept?: KeptShare) {
    this.#store = store
    this.#transform = transform
    this.#kept = kept
  }

  /** The newest known revision. */
  get highest(): string | undefined {
    return this.#highest
  }

  /** Everything up to here is in the store. Unchanged during a list, which is incomplete. */
  get complete(): string | undefined {
    return this.#complete
  }

  /** Where a watch resumes, slightly before the last event; undefined if a list is needed. */
  get resumeAt(): string | undefined {
    const { length } = this.#recent
    if (!this.#overlaps) return this.#recent[length - 1]
    return this.#recent.reduce<string | undefined>(
      (low, rv) => (low === undefined || isOlder(rv, low) ? rv : low),
      undefined,
    )
  }

  /** The server no longer has the resume point. True if one without overlap is left to try. */
  resumeLater(): boolean {
    const overlapped = this.resumeAt
    this.#overlaps = false
    this.#recent = this.#highest === undefined ? [] : [this.#highest]
    return this.resumeAt !== undefined && this.resumeAt !== overlapped
  }

  forgetResumePoint(): void {
    this.#recent = []
  }

  /** Forgets everything: the next list begins with an empty store. */
  dropAll(): readonly Change<T>[] {
    const changes: Change<T>[] = []
    // From the end: a store that is sorted moves nothing then.
    for (const key of [...this.#store.keys()].toReversed()) {
      this.#takeOut(key, changes)
      this.#kept?.delete(key)
    }
    this.#pending.forgetAll()
    this.#forgetDeletions()
    this.forgetResumePoint()
    return changes
  }

  /** A list older than the observed state is not current: its server lags, or was restored. */
  isTimeTravel(resourceVersion: string): boolean {
    return !this.#acceptOlder && isOlder(resourceVersion, this.#highest)
  }

  beginList(resourceVersion: string, acceptOlder: boolean): void {
    this.#listed = new Set()
    this.#listedAsOf = resourceVersion
    this.#acceptOlder = acceptOlder
    this.#highest = acceptOlder ? resourceVersion : newerOf(this.#highest, resourceVersion)
    if (!acceptOlder) return
    this.#pending.forgetAll()
    this.#forgetDeletions()
  }

  page(items: readonly T[]): readonly Change<T>[] {
    const changes: Change<T>[] = []
    for (const item of items) {
      const key = namespacedName(item)
      this.#listed?.add(key)
      this.#show(key, item, changes, this.#listedAsOf)
    }
    return changes
  }

  /** Cached objects missing from the list are deleted; their last known state is delivered. */
  endList(resourceVersion: string): readonly Change<T>[] {
    const changes: Change<T>[] = []
    const listed = this.#listed ?? new Set()
    for (const key of this.#store.keys())
      if (!listed.has(key) && !this.#pending.isNewerThan(resourceVersion, key)) {
        this.#pending.noteOver(key)
        this.#drop(key, resourceVersion, changes)
      }
    this.#listed = undefined
    this.#acceptOlder = false
    this.#complete = this.#highest
    this.#recent = [resourceVersion]
    this.#overlaps = true
    return changes
  }

  event(event: WatchEvent<T>): readonly Change<T>[] {
    if (event.type === 'BOOKMARK') {
      this.#bookmark(event.resourceVersion)
      return []
    }
    const changes: Change<T>[] = []
    const key = namespacedName(event.object)
    const revision = event.object.metadata.resourceVersion ?? ''
    if (event.type !== 'DELETED') this.#show(key, event.object, changes)
    else {
      if (!isOlder(revision, this.#store.at(key)?.metadata.resourceVersion)) {
        this.#pending.noteOver(key)
        this.#drop(key, revision, changes)
      }
    }
    this.#recent.push(revision)
    if (this.#recent.length > OVERLAP) this.#recent.shift()
    this.#highest = newerOf(this.#highest, revision)
    this.#complete = this.#highest
    return changes
  }

  /** A bookmark that is behind is ignored; one that is ahead confirms everything before it. */
  #bookmark(revision: string): void {
    if (isOlder(revision, this.#highest)) return
    this.#highest = revision
    this.#complete = revision
    this.#recent = this.#pending.isContradictedAt(revision) ? [] : [revision]
    this.#overlaps = true
  }

  /** Stores the result of this process's write until the server shows this version, a newer one or a deletion. Undefined if the object cannot be stored. */
  assume(object: T): readonly Change<T>[] | undefined {
    const key = namespacedName(object)
    const { resourceVersion } = object.metadata
    const old = this.#store.at(key)?.metadata.resourceVersion
    if (!hasOrder(resourceVersion) || (old !== undefined && !hasOrder(old))) return undefined
    const isPast = old !== undefined && !isOlder(old, resourceVersion)
    if (isPast || this.#isBuried(key, resourceVersion)) return []
    if (!this.#pending.noteWritten(key, resourceVersion)) return undefined
    const changes: Change<T>[] = []
    this.#set(key, object, changes)
    return changes
  }

  /** Stores what the server shows, unless this process made a newer change. */
  #show(key: string, object: T, changes: Change<T>[], asOf?: string): void {
    const revision = object.metadata.resourceVersion
    // A list that is newer than the recorded deletion and shows the object wins.
    if (asOf !== undefined && !isOlder(asOf, this.#tombstones.get(key))) this.#forgetDeletion(key)
    const old = this.#store.at(key)?.metadata.resourceVersion
    const isPending = this.#pending.has(key)
    if (this.#pending.outdates(key, { revision, ...defined({ asOf }) })) return
    // A list that is newer than the known object but shows an older version: the server lost what came in between, as in a restore.
    const isCurrent = isPending || (asOf !== undefined && !isOlder(asOf, old))
    if (isCurrent && isOlder(revision, old)) return this.#set(key, object, changes)
    this.#put(key, object, changes)
  }

  #put(key: string, object: T, changes: Change<T>[]): void {
    const revision = object.metadata.resourceVersion
    const old = this.#store.at(key)
    if (!this.#acceptOlder) {
      const order = compareResourceVersions(revision, old?.metadata.resourceVersion)
      if ((order !== undefined && order <= 0) || this.#isBuried(key, revision)) return
    } else if (old !== undefined && revision === old.metadata.resourceVersion) return
    this.#set(key, object, changes)
  }

  #isBuried(key: string, revision: string | undefined): boolean {
    const deleted = this.#tombstones.get(key)
    return deleted !== undefined && (isOlder(revision, deleted) || revision === deleted)
  }

  #set(key: string, object: T, changes: Change<T>[]): void {
    const old = this.#store.at(key)
    const now = this.#transform(object)
    this.#kept?.put(key, now)
    this.#tombstones.delete(key)
    this.#store.set(key, now)
    // The same name with another uid is a new object: the old one was deleted without an event.
    if (old !== undefined && old.metadata.uid !== now.metadata.uid)
      changes.push({ key, old, now: undefined }, { key, old: undefined, now })
    else changes.push({ key, old, now })
  }

  #drop(key: string, revision: string, changes: Change<T>[]): void {
    this.#rememberDeletion(key, revision)
    this.#takeOut(key, changes)
  }

  #rememberDeletion(key: string, revision: string): void {
    if (key.length + revision.length > MAX_TOMBSTONE_CHARS) {
      this.#tombstones.delete(key)
      this.#kept?.delete(key)
      return
    }
    // It takes the place of the object, and is shorter. A server may report deletions of any names, whose objects were never there.
    this.#kept?.put(key, [key])
    const deletedAt = newerOf(this.#tombstones.get(key), revision)
    this.#tombstones.delete(key)
    this.#tombstones.set(key, deletedAt)
    if (this.#tombstones.size > MAX_TOMBSTONES) this.#forgetOldest()
  }

  #takeOut(key: string, changes: Change<T>[]): void {
    const old = this.#store.at(key)
    if (old === undefined) return
    this.#store.delete(key)
    changes.push({ key, old, now: undefined })
  }

  #forgetDeletion(key: string): void {
    if (this.#tombstones.delete(key)) this.#kept?.delete(key)
  }

  #forgetDeletions(): void {
    for (const key of this.#tombstones.keys()) this.#forgetDeletion(key)
  }

  #forgetOldest(): void {
    const [oldest] = this.#tombstones.keys()
    if (oldest !== undefined) this.#forgetDeletion(oldest)
  }
}
