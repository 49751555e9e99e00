// What this process wrote itself and its caches may not show yet. To decide on what is older than that means to ask for the same a second time, only to be
// refused. The event of the write is on its way; should it be lost, the cache is believed again after a moment.
import type { Clock } from '#lib/clock.ts'
import { isOlder } from '#kube/resource-version.ts'
import type { KubeObject } from '#schema/object.ts'

/** Watches bring a write back within milliseconds. */
export const LAG_MS = 1_000
/** Objects written within that time; with more, the oldest are dropped. */
const MOST_REMEMBERED = 10_000

export class OwnWrites {
  readonly #clock: Pick<Clock, 'monotonic'>
  /** By UID, the oldest first. */
  readonly #written = new Map<string, { readonly version: string; readonly at: number }>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  note({ metadata: { uid, resourceVersion } }: KubeObject): void {
    if (uid === undefined || resourceVersion === undefined) return
    this.#written.delete(uid)
    this.#written.set(uid, { version: resourceVersion, at: this.#clock.monotonic() })
    const [oldest] = this.#written.keys()
    if (this.#written.size > MOST_REMEMBERED && oldest !== undefined) this.#written.delete(oldest)
  }

  /** Whether a cache shows an older version than the one that we wrote a moment ago. */
  isBehind({ metadata: { uid = '', resourceVersion } }: KubeObject): boolean {
    const written = this.#written.get(uid)
    if (written === undefined) return false
    const isLate = isOlder(resourceVersion, written.version) && this.#clock.monotonic() - written.at < LAG_MS
    if (!isLate) this.#written.delete(uid)
    return isLate
  }
}
