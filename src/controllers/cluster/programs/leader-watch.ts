// Judges whether programs lead in a Cluster by this process's stopwatch: renewals carry the time of a node of the cluster, whose clock may be wrong.
import type { Clock } from '#lib/clock.ts'
import { HANDOVER_MS, holderOf, lapsedAt, type Lease, type Sighting, sighted } from '#runtime/lease.ts'

type Leading = 'Leads' | 'Missing' | 'Unknown'

/** Beyond this the oldest are dropped; one that is dropped is watched again from the start. */
const MOST_WATCHED = 10_000

interface Watched extends Sighting {
  /** A renewal was observed, so the time of the last one is known. */
  readonly isRenewed: boolean
}

export class LeaderWatch {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  readonly #seen = new Map<string, Watched>()

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock
  }

  /** `key` names the program and the uid of its Cluster. */
  judge(key: string, lease: Lease | undefined): Leading {
    const before = this.#seen.get(key)
    this.#seen.delete(key)
    if (lease === undefined) return 'Missing'
    const now = this.#clock.monotonic()
    const sighting = sighted(lease, before, now)
    const isRenewed = before !== undefined && (before.isRenewed || before.version !== sighting.version)
    this.#seen.set(key, { ...sighting, isRenewed })
    for (const oldest of this.#seen.keys()) {
      if (this.#seen.size <= MOST_WATCHED) break
      this.#seen.delete(oldest)
    }
    const lifeMs = holderOf(lease) === undefined ? 0 : (lease.spec?.leaseDurationSeconds ?? 0) * 1_000 + HANDOVER_MS
    if (now - sighting.at > lifeMs + HANDOVER_MS) return 'Missing'
    if (isRenewed) return 'Leads'
    // Watched for less than its life, without a renewal. A clock that is right tells whether it is held; one that says it is over may be wrong.
    return lapsedAt(lease, this.#clock.now()) === undefined ? 'Leads' : 'Unknown'
  }
}
