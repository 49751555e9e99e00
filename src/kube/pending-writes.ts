// Our own writes that no list and no watch has shown yet, and when the server has contradicted one of them. Invariant: each entry is settled by what the server
// shows of its object, by a complete list that is new enough, or by a list that a bookmark without it makes due.
import { compareResourceVersions, isOlder } from './resource-version.ts'

/** Writes while the watch is away; what is beyond is shown when the watch brings it. */
const MAX_PENDING = 10_000

interface PendingDeletion {
  /** Of the object as we deleted it. */
  readonly revision: string
  /** Lists begun up to this one may still show the object. */
  readonly list: number
  /** The list in which the server showed the object all the same. */
  shownIn: number | undefined
  /** A bookmark came, and the end had not been shown before it. */
  isOverdue: boolean
}

export class PendingWrites {
  /** By key: the version that we wrote. */
  readonly #written = new Map<string, string>()
  /** By UID: a deleted object never comes back, unless the server was set back. */
  readonly #deleted = new Map<string, PendingDeletion>()
  #list = 0

  /** False: there is no room for more. */
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

  /** A server that was set back has forgotten what we wrote before. */
  beginList(wasSetBack: boolean): void {
    this.#list++
    if (!wasSetBack) return
    this.#written.clear()
    this.#deleted.clear()
  }

  /** Whether what the server shows of an object is older than what we wrote; `asOf` is the version of the list that shows it. */
  outdates(key: string, shown: { readonly revision: string | undefined; readonly asOf?: string }): boolean {
    const revision = this.#written.get(key)
    if (revision === undefined) return false
    if (isOlder(shown.revision, revision) && (shown.asOf === undefined || isOlder(shown.asOf, revision))) return true
    this.#written.delete(key)
    return false
  }

  /** Whether this list is the second one, begun after the deletion, that shows the object: then it must be there. A single one may lag. */
  isBackInList(uid: string): boolean {
    const deletion = this.#deleted.get(uid)
    if (deletion === undefined || deletion.list >= this.#list) return false
    const isBack = deletion.shownIn !== undefined && deletion.shownIn < this.#list
    if (isBack) this.#deleted.delete(uid)
    else deletion.shownIn = this.#list
    return isBack
  }

  /** The server showed that this object is gone. */
  noteEnd(uid: string | undefined): void {
    if (uid !== undefined) this.#deleted.delete(uid)
  }

  /** What we wrote is over: a newer version or an end was shown. */
  noteOver(key: string): void {
    this.#written.delete(key)
  }

  /** Whether an object that a complete list does not show was written after that list. */
  isNewerThan(asOf: string, key: string): boolean {
    const revision = this.#written.get(key)
    return revision !== undefined && isOlder(asOf, revision)
  }

  /** A list that knew the object and does not show it any more settles its deletion. */
  endList(asOf: string): void {
    for (const [uid, { revision, list, shownIn }] of this.#deleted)
      if (list < this.#list && shownIn !== this.#list && !isOlder(asOf, revision)) this.#deleted.delete(uid)
  }

  /** Everything up to this revision was shown, and one of our writes was not among it: the server must be asked what is true. */
  isContradictedAt(revision: string): boolean {
    for (const written of this.#written.values()) if (!isOlder(revision, written)) return true
    // The version of a deletion is not known: a bookmark may be older than it, and the one after that is not.
    let isContradicted = false
    for (const deletion of this.#deleted.values()) {
      isContradicted ||= deletion.isOverdue || deletion.shownIn !== undefined
      deletion.isOverdue = true
    }
    return isContradicted
  }
}

/** Versions without an order cannot be told apart later. */
export const hasOrder = (revision: string | undefined): revision is string =>
  compareResourceVersions(revision, revision) !== undefined
