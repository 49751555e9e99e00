// A deletion is counted when it is admitted, before it happens. Only the object shows whether it follows. If it does not within half a minute (a
// later check refused it, or the review was forged), it is uncounted. Pure.
import { microTimestamp } from '#lib/clock.ts'
import { MAX_RESERVED } from '#api/kinds/defender-ledger.ts'
import type { Reserved, WorkingLedger } from '../ledger.ts'
import type { Series } from '../rates.ts'

/** API servers delete right after the last review, which takes at most ten seconds. */
export const FOLLOWS_WITHIN_MS = 30_000
/** A deletion with an unknown outcome stays counted for the longest window. */
const FORGOTTEN_MS = 24 * 3_600_000

/** `Unknown`: could not be determined. */
export type Presence = 'There' | 'Deleted' | 'Unknown'

export type PresenceOf = (reserved: Reserved) => Presence

/** Drops reservations with a known outcome, and uncounts deletions that did not happen. */
export function settleReserved(
  ledger: WorkingLedger,
  presenceOf: PresenceOf,
  seriesOf: (kind: string) => readonly Series[],
) {
  const left = ledger.reserved.filter((r) => {
    const at = Date.parse(r.at)
    const age = ledger.now - at
    const presence = presenceOf(r)
    if (presence === 'Deleted' || age >= FORGOTTEN_MS) return false
    if (presence === 'Unknown' || age < FOLLOWS_WITHIN_MS) return true
    ledger.uncount(seriesOf(r.kind), at)
    return false
  })
  if (left.length < ledger.reserved.length) ledger.reserved = left
}

/** Without room it stays counted: better too strict than too lax. */
export function reserve(ledger: WorkingLedger, deletion: Omit<Reserved, 'at'>): void {
  if (ledger.reserved.length >= MAX_RESERVED) return
  ledger.reserved = [...ledger.reserved, { ...deletion, at: microTimestamp(ledger.now) }]
}
