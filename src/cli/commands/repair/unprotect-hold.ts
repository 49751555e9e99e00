// Builds Unprotects: for the whole cluster or one object, for a short time. The name follows from the target, so a second one updates the first.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { holdName } from '#permits/holds/names.ts'
import { holdErrors } from './hold-errors.ts'
import { namedTarget, type HoldTargets } from '../../fleet/hold-target.ts'
import { newHold, type HoldTarget, type HoldTexts } from '#permits/holds/new-hold.ts'

const UNPROTECT_NAME = 'unprotect-all'
/** Long enough for manual work, too short to be forgotten. */
const LONGEST_MS = 24 * 3_600_000

const UNPROTECTABLE: HoldTargets = {
  nouns: ['cluster', 'source', 'machineset', 'set', 'canary', 'remedier', 'policy', 'machine', 'node'],
  refuse: holdErrors.KN1325_protection,
}

/** `cluster/prod`, or nothing for the whole cluster. */
export const unprotectTarget = (what: string | undefined): HoldTarget =>
  what === undefined ? { kind: 'Cluster', selector: {} } : namedTarget(what, UNPROTECTABLE)

export interface UnprotectRequest extends HoldTexts {
  readonly what: string | undefined
}

export function unprotectHold(request: UnprotectRequest, now: number): OperationalHold {
  const target = unprotectTarget(request.what)
  return newHold(
    {
      name: target.name === undefined ? UNPROTECT_NAME : holdName(target, 'Unprotect'),
      target,
      effect: 'Unprotect',
      longestMs: LONGEST_MS,
      refuse: holdErrors.KN1002_protection,
    },
    request,
    now,
  )
}
