// Builds Unprotects: for the whole cluster, for a short time, under one name, so that a second one updates the first.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { holdErrors } from './hold-errors.ts'
import { newHold, type HoldWords } from './new-hold.ts'

const UNPROTECT_NAME = 'unprotect-all'
/** Long enough for manual work, too short to be forgotten. */
const LONGEST_MS = 24 * 3_600_000

export const unprotectHold = (wish: HoldWords, now: number): OperationalHold =>
  newHold(
    {
      name: UNPROTECT_NAME,
      target: { kind: 'Cluster', selector: {} },
      effect: 'Unprotect',
      longestMs: LONGEST_MS,
      refuse: holdErrors.KN1332,
    },
    wish,
    now,
  )
