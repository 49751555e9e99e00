// Decides one deletion by somebody else: it passes while its kind is within its limits in every window, and is counted in the same ledger as our own
// disruptions. Pure; what passes counts only once the ledger was swapped.
import { timeOfDay } from '#lib/clock.ts'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { isInForce } from '../holds.ts'
import { WorkingLedger } from '../ledger.ts'
import { type Series, seriesName } from '../rates.ts'
import type { DeletionLimit, GuardedKind } from './guarded-kinds.ts'

export interface DeletionSeen {
  readonly guarded: GuardedKind
  readonly name: string
  /** Its deletion began before: asking again deletes nothing more. */
  readonly isEnding: boolean
  /** How many there are; 0 where nobody can tell, which leaves the numbers that a person deletes by hand. */
  readonly present: number
  readonly holds: readonly OperationalHold[]
  readonly ledger: LedgerSpec | undefined
  /** The time of the Defender, and the wall clock that holds speak of. */
  readonly now: number
  readonly wall: number
  readonly leader: string
}

export type DeletionVerdict =
  /** `ledger` is what has to be swapped in first; undefined when there is nothing to count. */
  | { readonly kind: 'Passes'; readonly ledger: LedgerSpec | undefined }
  | { readonly kind: 'Held'; readonly why: string; readonly retryAfterMs?: number }

const GUARD = 'guard'

const seriesOf = ({ kind }: GuardedKind, { window }: DeletionLimit): Series => ({
  policy: seriesName(`${GUARD}/${kind}`, window, 'cluster'),
  window,
  per: 'cluster',
  domain: '',
})

export const limitOf = ({ share, least }: DeletionLimit, present: number): number =>
  Math.max(least, Math.floor(share * present))

const LIFT = 'to lift the guard for ten minutes, run kubenode unprotect --reason TEXT'

export function planDeletion(seen: DeletionSeen): DeletionVerdict {
  const { guarded, name, holds, wall } = seen
  if (seen.isEnding) return { kind: 'Passes', ledger: undefined }
  const inForce = holds.filter((h) => isOfCluster(h) && isInForce(h, wall))
  const freeze = inForce.find((h) => h.spec.effect === 'Freeze')
  if (freeze !== undefined) {
    const { reason, author, until } = freeze.spec
    const why = `the cluster is frozen until ${until} by ${author}: ${reason}; to continue, run kubenode thaw`
    return { kind: 'Held', why }
  }
  const isLifted = inForce.some((h) => h.spec.effect === 'Unprotect')
  if (!isLifted && guarded.never?.includes(name) === true)
    return { kind: 'Held', why: `${guarded.kind} ${name} keeps the cluster alive; ${LIFT}` }
  if (seen.ledger === undefined)
    return { kind: 'Held', why: 'the Defender is still starting; try again', retryAfterMs: 1_000 }
  return counted(seen, isLifted)
}

/** A lifted limit still counts: what follows it must know. */
function counted(
  { guarded, present, ledger: before, now, wall, leader }: DeletionSeen,
  isLifted: boolean,
): DeletionVerdict {
  const ledger = new WorkingLedger(before, now)
  for (const limit of guarded.limits) {
    const series = seriesOf(guarded, limit)
    const seen = ledger.rates.count(series)
    const most = limitOf(limit, present)
    if (seen + 1 <= most || isLifted) continue
    const retryAfterMs = ledger.rates.freesIn(series, most)
    const next = retryAfterMs === undefined ? '' : `wait until ${timeOfDay(wall + retryAfterMs, wall)}, or `
    const why = `${seen} of kind ${guarded.kind} were deleted in ${limit.window}, the limit is ${most}; ${next}${LIFT}`
    return { kind: 'Held', why, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  }
  if (!ledger.countOnly(guarded.limits.map((l) => seriesOf(guarded, l))))
    return { kind: 'Held', why: 'the ledger is full; try again in a minute', retryAfterMs: 60_000 }
  return { kind: 'Passes', ledger: ledger.next(leader) }
}

/** Only holds of the cluster itself speak of deletions by others. */
const isOfCluster = ({ spec: { target } }: OperationalHold): boolean => target.kind === 'Cluster'
