// Deletes ended permits: all after a day, and after an hour the oldest if there are many. The ledger's rates, breakers and counts already include
// every grant, so deleting permits changes no budget.
import { operationPermit, type OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import type { Caches } from './caches.ts'
import type { Grant } from './ledger.ts'
import { isOpen } from './permit-phase.ts'

/** For people who ask what happened during the night. */
export const KEEP_ENDED_MS = 24 * 3_600_000
/** By then the requester has observed the end, and has asked again after a refusal. */
export const KEEP_AT_LEAST_MS = 3_600_000
/** Ended permits kept beyond that time, newest first: a rollout over a thousand machines would leave a thousand objects. */
export const MOST_ENDED = 100
/** The sweep interval. */
const EVERY_MS = 60_000
/** Deleted per sweep. The rest follows in the next one. */
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

  /** Runs concurrently with decisions, which do not wait for it. `now` is the Defender's time. */
  sweep(now: number, grants: readonly Pick<Grant, 'permitUid'>[] = []): void {
    const { clock, log } = this.#options
    if (this.#running !== undefined || clock.monotonic() < this.#notBefore) return
    this.#notBefore = clock.monotonic() + EVERY_MS
    const old = oldPermits(this.#options.caches.permits.list(), grants, now)
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

/** Pure; oldest first. A permit with a slot is kept longer: the slot refers people to it. */
export function oldPermits(
  permits: readonly OperationPermit[],
  grants: readonly Pick<Grant, 'permitUid'>[],
  now: number,
): readonly OperationPermit[] {
  const held = new Set(grants.map((g) => g.permitUid))
  const ended = permits
    .flatMap((permit) => {
      const at = endOf(permit)
      return at === undefined ? [] : [{ permit, at }]
    })
    .toSorted((a, b) => a.at - b.at)
  const surplus = ended.length - MOST_ENDED
  return ended
    .filter(({ permit, at }, i) => {
      const age = now - at
      if (age >= KEEP_ENDED_MS) return true
      return i < surplus && age >= KEEP_AT_LEAST_MS && !held.has(permit.metadata.uid ?? '')
    })
    .map(({ permit }) => permit)
}

function endOf(permit: OperationPermit): number | undefined {
  const { status } = permit
  if (status === undefined || isOpen(permit)) return undefined
  const at = Date.parse(status.endedAt ?? status.decidedAt ?? '')
  return Number.isNaN(at) ? undefined : at
}
