// How long a permit has been refused or ended, by this process's stopwatch. The times in a permit are the Defender's, whose clock may be hours off.
// With those, a requester would ask again in a loop, or not for hours.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Clock } from '#lib/clock.ts'

/** Milliseconds by permit uid. */
export type EndedFor = ReadonlyMap<string, number>

/** Beyond this the oldest are dropped. If a dropped permit is still asked about, it counts from zero again. */
const MOST_REMEMBERED = 10_000

export class EndedPermits {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  readonly #since = new Map<string, number>()
  readonly #requesters = new Set<string>()

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock
  }

  /** Takes all ended permits of one requester. For those that ended before this process first saw them, only their own times are known. */
  observe(requester: string, permits: Iterable<OperationPermit>): EndedFor {
    const now = this.#clock.monotonic()
    const isFirst = !this.#requesters.has(requester)
    this.#requesters.add(requester)
    const endedFor = new Map<string, number>()
    for (const permit of permits) {
      const { uid } = permit.metadata
      if (uid === undefined) continue
      const since = this.#since.get(uid) ?? now - (isFirst ? this.#reportedAt(permit) : 0)
      this.#since.set(uid, since)
      endedFor.set(uid, now - since)
    }
    bound(this.#since)
    bound(this.#requesters)
    return endedFor
  }

  #reportedAt({ status }: OperationPermit): number {
    const at = Date.parse(status?.endedAt ?? status?.decidedAt ?? '')
    return Number.isNaN(at) ? 0 : Math.max(0, this.#clock.now() - at)
  }
}

function bound(kept: Map<string, unknown> | Set<string>): void {
  for (const key of kept.keys()) {
    if (kept.size <= MOST_REMEMBERED) return
    kept.delete(key)
  }
}

/** A permit that was never observed has just ended. */
export const endedForMs = ({ metadata }: OperationPermit, endedFor: EndedFor): number =>
  endedFor.get(metadata.uid ?? '') ?? 0

/** The delay after a refusal, unless the Defender gives another time. */
export const ASK_AGAIN_MS = 60_000

/** When a refused permit may be requested again. 0 if it is not refused. */
export function askAgainInMs(
  permit: OperationPermit | undefined,
  endedFor: EndedFor,
  refusedMs = ASK_AGAIN_MS,
): number {
  const { phase, verdicts = [] } = permit?.status ?? {}
  if (permit === undefined || phase !== 'Denied') return 0
  const seconds = verdicts.flatMap((v) => v.retryAfter ?? [])
  const waitMs = seconds.length === 0 ? refusedMs : Math.min(...seconds) * 1_000
  return Math.max(0, waitMs - endedForMs(permit, endedFor))
}

/** Gates that judge each target separately; a denial by any other gate applies to all targets. */
const OWN_GATES: ReadonlySet<string> = new Set(['Target', 'Protect', 'Rule'])

/** Refusals of individual targets: only a change of the policy or the machine changes the answer. */
export const ownRefusals = ({ status }: OperationPermit) =>
  (status?.verdicts ?? []).filter(({ verdict, gate }) => verdict === 'Denied' && OWN_GATES.has(gate))

/** Refusals of its targets and of its alternates. */
export const knownRefusals = (permit: OperationPermit) => [
  ...ownRefusals(permit),
  ...(permit.status?.refusedAlternates ?? []),
]

/** Decided, with a refusal of the permit, of a target or of an alternate. */
export const isRefused = ({ status }: OperationPermit): boolean =>
  status?.decidedAt !== undefined &&
  (status.phase === 'Denied' ||
    status.verdicts?.some((v) => v.verdict === 'Denied') === true ||
    status.refusedAlternates !== undefined)
