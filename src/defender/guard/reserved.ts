// A deletion is counted when it is admitted, before it happens: whether it follows only the object tells. One that does not follow within half a minute
// (a later check refused it, or the review was a forgery) is no longer counted. Pure.
import { microTimestamp } from '#lib/clock.ts'
import { MAX_RESERVED } from '#api/kinds/defender-ledger.ts'
import type { Reserved, WorkingLedger } from '../ledger.ts'
import type { Series } from '../rates.ts'

/** API servers delete right after the last review, which takes ten seconds at most. */
export const FOLLOWS_WITHIN_MS = 30_000
/** A deletion whose fate is unknown stays counted for as long as the longest window. */
const FORGOTTEN_MS = 24 * 3_600_000

/** `Unknown`: could not be determined. */
export type Fate = 'There' | 'Deleted' | 'Unknown'

export type FateOf = (reserved: Reserved) => Fate

/** Drops the reservations whose outcome is known, and what those count that did not follow. */
export function settleReserved(ledger: WorkingLedger, fateOf: FateOf, seriesOf: (kind: string) => readonly Series[]) {
  const left = ledger.reserved.filter((r) => {
    const at = Date.parse(r.at)
    const age = ledger.now - at
    const fate = fateOf(r)
    if (fate === 'Deleted' || age >= FORGOTTEN_MS) return false
    if (fate === 'Unknown' || age < FOLLOWS_WITHIN_MS) return true
    ledger.uncount(seriesOf(r.kind), at)
    return false
  })
  if (left.length < ledger.reserved.length) ledger.reserved = left
}

/** Without room it stays counted: too strict rather than too lax. */
export function reserve(ledger: WorkingLedger, deletion: Omit<Reserved, 'at'>): void {
  if (ledger.reserved.length >= MAX_RESERVED) return
  ledger.reserved = [...ledger.reserved, { ...deletion, at: microTimestamp(ledger.now) }]
}
