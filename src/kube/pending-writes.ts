// Remembers the pending writes of this process, which no list and no watch has delivered yet, and finds those that the server contradicts. Invariant: an event of
// the object, a complete list that is new enough, or a list that a bookmark without the write makes necessary removes each entry.
import { compareResourceVersions, isOlder } from './resource-version.ts'

/** Writes while the watch is disconnected; the cache shows further ones when the watch delivers them. */
const MAX_PENDING = 10_000

interface PendingDeletion {
  /** The version of the object that was deleted. */
  readonly revision: string
  /** Lists that began up to this one may still show the object. */
  readonly list: number
  /** The later list that showed the object all the same. */
  shownIn: number | undefined
  /** The watch delivered a bookmark, but not the deletion. */
  isOverdue: boolean
}

export class PendingWrites {
  /** By key: the version that this process wrote. */
  readonly #written = new Map<string, string>()
  /** By UID: a deleted object never exists again, unless the server was restored from a backup. */
  readonly #deleted = new Map<string, PendingDeletion>()
  #list = 0

  /** False: the bound is reached. */
  noteWritten(key: string, revision: string): boolean {
    if (this.#written.size >= MAX_PENDING && !this.#written.has(key)) return false
    this.#written.set(key, revision)
    return true
  }

  noteDeleted(key: string, { uid, revision }: { readonly uid: string; readonly revision: string }): boolean {
    if (this.#deleted.size >= MAX_PENDING) return false
    this.#written.delete(key)
    this.#deleted.set(uid, { revision, list: this.#list, shownIn: undefined, isOverdue: false })
    return true
  }

  has(key: string): boolean {
    return this.#written.has(key)
  }

  isDeleted(uid: string | undefined): boolean {
    return uid !== undefined && this.#deleted.has(uid)
  }

  /** A server that was restored from a backup has lost the earlier writes. */
  beginList(wasSetBack: boolean): void {
    this.#list++
    if (!wasSetBack) return
    this.#written.clear()
    this.#deleted.clear()
  }

  /** Whether the server shows an older version than this process wrote; `asOf` is the version of the list that shows it. */
  outdates(key: string, shown: { readonly revision: string | undefined; readonly asOf?: string }): boolean {
    const revision = this.#written.get(key)
    if (revision === undefined) return false
    if (isOlder(shown.revision, revision) && (shown.asOf === undefined || isOlder(shown.asOf, revision))) return true
    this.#written.delete(key)
    return false
  }

  /** Whether this is the second list since the deletion that shows the object: then it exists. A single list may lag. */
  isBackInList(uid: string): boolean {
    const deletion = this.#deleted.get(uid)
    if (deletion === undefined || deletion.list >= this.#list) return false
    const isBack = deletion.shownIn !== undefined && deletion.shownIn < this.#list
    if (isBack) this.#deleted.delete(uid)
    else deletion.shownIn = this.#list
    return isBack
  }

  /** The watch delivered the deletion of this object. */
  noteEnd(uid: string | undefined): void {
    if (uid !== undefined) this.#deleted.delete(uid)
  }

  /** The server showed a newer version, or a deletion. */
  noteOver(key: string): void {
    this.#written.delete(key)
  }

  /** Whether this process wrote an object after the list that does not show it. */
  isNewerThan(asOf: string, key: string): boolean {
    const revision = this.#written.get(key)
    return revision !== undefined && isOlder(asOf, revision)
  }

  /** A list that is newer than the object and does not show it confirms its deletion. */
  endList(asOf: string): void {
    for (const [uid, { revision, list, shownIn }] of this.#deleted)
      if (list < this.#list && shownIn !== this.#list && !isOlder(asOf, revision)) this.#deleted.delete(uid)
  }

  /** Whether the server showed everything up to this revision, but not one of the writes: then a new list is necessary. */
  isContradictedAt(revision: string): boolean {
    for (const written of this.#written.values()) if (!isOlder(revision, written)) return true
    // The version of a deletion is unknown: the first bookmark may be older, the second one is not.
    let isContradicted = false
    for (const deletion of this.#deleted.values()) {
      isContradicted ||= deletion.isOverdue || deletion.shownIn !== undefined
      deletion.isOverdue = true
    }
    return isContradicted
  }
}

/** Versions without an order cannot be compared later. */
export const hasOrder = (revision: string | undefined): revision is string =>
  compareResourceVersions(revision, revision) !== undefined
