// Tracks this process's pending writes, which no list or watch has delivered yet, and finds those that the server contradicts. Invariant: each entry is removed
// by an event of the object, by a complete list that is new enough, or by the list that follows a bookmark without the write.
import { compareResourceVersions, isOlder } from './resource-version.ts'

/** Writes while the watch is disconnected. Beyond this, the cache shows a write only when the watch delivers it. */
const MAX_PENDING = 10_000

export class PendingWrites {
  /** Key → the version that this process wrote. */
  readonly #written = new Map<string, string>()

  /** False if the limit is reached. */
  noteWritten(key: string, revision: string): boolean {
    if (this.#written.size >= MAX_PENDING && !this.#written.has(key)) return false
    this.#written.set(key, revision)
    return true
  }

  has(key: string): boolean {
    return this.#written.has(key)
  }

  /** A server restored from a backup has lost the earlier writes. */
  forgetAll(): void {
    this.#written.clear()
  }

  /** True if the server shows an older version than this process wrote; `asOf` is the version of the list that shows it. */
  outdates(key: string, shown: { readonly revision: string | undefined; readonly asOf?: string }): boolean {
    const revision = this.#written.get(key)
    if (revision === undefined) return false
    if (isOlder(shown.revision, revision) && (shown.asOf === undefined || isOlder(shown.asOf, revision))) return true
    this.#written.delete(key)
    return false
  }

  /** The server showed a newer version, or a deletion. */
  noteOver(key: string): void {
    this.#written.delete(key)
  }

  /** True if this process wrote the object after the list that does not show it. */
  isNewerThan(asOf: string, key: string): boolean {
    const revision = this.#written.get(key)
    return revision !== undefined && isOlder(asOf, revision)
  }

  /** True if the server showed everything up to this revision, but not one of the writes: a new list is needed. */
  isContradictedAt(revision: string): boolean {
    for (const written of this.#written.values()) if (!isOlder(revision, written)) return true
    return false
  }
}

/** Versions without an order cannot be compared later. */
export const hasOrder = (revision: string | undefined): revision is string =>
  compareResourceVersions(revision, revision) !== undefined
