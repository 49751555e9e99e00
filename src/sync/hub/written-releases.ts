// Remembers recent writes, so that the loop does not decide from a stale cache.
import type { Release } from '#api/kinds/release.ts'
import { isOlder } from '#kube/resource-version.ts'

/** Pending writes; far more than Releases in progress. */
const MAX_REMEMBERED = 256

export class WrittenReleases {
  readonly #byUid = new Map<string, Release>()

  remember(release: Release): void {
    const { uid = '' } = release.metadata
    this.#byUid.delete(uid)
    this.#byUid.set(uid, release)
    for (const old of [...this.#byUid.keys()].slice(0, -MAX_REMEMBERED)) this.#byUid.delete(old)
  }

  /** The cached one, unless our last write is newer. Versions of one object on one server can be compared. */
  newest(cached: Release): Release {
    const own = this.#byUid.get(cached.metadata.uid ?? '')
    return own !== undefined && isOlder(cached.metadata.resourceVersion, own.metadata.resourceVersion) ? own : cached
  }
}
