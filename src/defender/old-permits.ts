// Clears away permits that ended a day ago: they say nothing any more, and deleting them changes nothing.
import { operationPermit, type OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import type { Caches } from './caches.ts'
import { isOpen } from './permit-phase.ts'

const KEEP_ENDED_MS = 24 * 3_600_000
/** The interval between two sweeps. */
const EVERY_MS = 60_000
/** Deleted at one time; the others follow in the next sweep. */
const MOST_DELETED = 50

export interface SweepOptions {
  readonly client: KubeClient
  readonly caches: Pick<Caches, 'permits'>
  readonly clock: Clock
  readonly log: Logger
  readonly mayWrite: () => boolean
}

export class OldPermits {
  readonly #options: SweepOptions
  #notBefore = -Infinity
  #running: Promise<void> | undefined

  constructor(options: SweepOptions) {
    this.#options = options
  }

  /** Runs concurrently with decisions, which do not wait for it. `now` is the time of the Defender. */
  sweep(now: number): void {
    const { clock, log } = this.#options
    if (this.#running !== undefined || clock.monotonic() < this.#notBefore) return
    this.#notBefore = clock.monotonic() + EVERY_MS
    const old = this.#options.caches.permits.list().filter((p) => isOver(p, now))
    if (old.length > MOST_DELETED) this.#notBefore = clock.monotonic()
    this.#running = this.#delete(old.slice(0, MOST_DELETED))
      .catch((error: unknown) => log.warn('cannot delete old permits', { error: messageOf(error) }))
      .then(() => {
        this.#running = undefined
      })
  }

  get ended(): Promise<void> {
    return this.#running ?? Promise.resolve()
  }

  async #delete(old: readonly OperationPermit[]): Promise<void> {
    const { client, mayWrite } = this.#options
    for (const permit of old) if (mayWrite()) await deleteExactly(client, operationPermit, permit)
  }
}

function isOver(permit: OperationPermit, now: number): boolean {
  const { status } = permit
  if (status === undefined || isOpen(permit)) return false
  const ended = Date.parse(status.endedAt ?? status.decidedAt ?? '')
  return now - ended >= KEEP_ENDED_MS
}
