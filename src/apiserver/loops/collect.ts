// A deletion by the garbage collector: it passes admission like any other, under the name of a real server's collector. An owner
// reference is only text that a client wrote, so deletion guards are checked here too. A refusal is retried with growing delays.
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { AUTHENTICATED, serviceAccountGroups } from '../auth/user.ts'
import type { RequestUser } from '../builtin/kind.ts'
import type { ServerParts } from '../handlers/context.ts'
import { deleteObject } from '../handlers/delete.ts'
import type { Served } from '../registry/served.ts'
import type { Stored } from '../storage/stored.ts'

const NAMESPACE = 'kube-system'
const COLLECTOR: RequestUser = {
  name: `system:serviceaccount:${NAMESPACE}:generic-garbage-collector`,
  groups: [...serviceAccountGroups(NAMESPACE), AUTHENTICATED],
}

const FIRST_RETRY_MS = 1_000
/** A refusal may last: a limit of a day, a hold. */
const LAST_RETRY_MS = 5 * 60_000

interface Refused {
  readonly waitMs: number
  readonly until: number
}

export class Collections {
  readonly #parts: ServerParts
  readonly #log: Logger
  /** By uid; only objects refused at their last try. */
  readonly #refused = new Map<string, Refused>()

  constructor(parts: ServerParts, log: Logger) {
    this.#parts = parts
    this.#log = log
  }

  /** Exactly the version that was judged: one with another owner by now is judged again. */
  async delete(served: Served, s: Stored, propagation: 'Foreground' | 'Background'): Promise<void> {
    const { clock } = this.#parts
    const { uid = '' } = s.value.metadata
    const before = this.#refused.get(uid)
    if (before !== undefined && clock.monotonic() < before.until) return
    try {
      await deleteObject(callOf(this.#parts, served, s), s, {
        propagation,
        gracePeriodSeconds: 0,
        uid,
        resourceVersion: String(s.revision),
        dryRun: false,
      })
      this.#refused.delete(uid)
    } catch (e) {
      const waitMs = before === undefined ? FIRST_RETRY_MS : Math.min(2 * before.waitMs, LAST_RETRY_MS)
      this.#refused.set(uid, { waitMs, until: clock.monotonic() + waitMs })
      const { resource, namespace, name } = s
      this.#log.warn('collection refused', { resource, namespace, name, retryInMs: waitMs, reason: messageOf(e) })
    }
  }

  /** Forgets objects that are no longer to be collected, and returns when the next retry is due. */
  retryInMs(wanted: ReadonlySet<string>): number | undefined {
    for (const uid of this.#refused.keys()) if (!wanted.has(uid)) this.#refused.delete(uid)
    if (this.#refused.size === 0) return undefined
    let next = Infinity
    for (const { until } of this.#refused.values()) next = Math.min(next, until)
    return Math.max(0, next - this.#parts.clock.monotonic())
  }
}

/** The fields of an equivalent request. */
function callOf(parts: ServerParts, served: Served, { namespace, name }: Stored): Parameters<typeof deleteObject>[0] {
  const { group, version, plural } = served.type
  return {
    parts,
    served,
    user: COLLECTOR,
    path: { group, version, plural, namespace, name, subresource: '', watch: false },
    query: new URLSearchParams(),
    warnings: new Set(),
  }
}
