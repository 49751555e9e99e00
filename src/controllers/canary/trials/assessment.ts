// What one reconcile of a canary works out before it decides: machines, trials, holds in force, and whether the versions fit.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { holdOf } from '#permits/holds/in-force.ts'
import type { Problem } from '#nodes/placement/problem.ts'
import type { Fit } from './compatibility.ts'
import type { Picked } from './selection.ts'
import type { Trial } from './trial.ts'

export interface Assessment {
  readonly picked: Picked
  readonly trials: readonly Trial[]
  readonly holds: readonly OperationalHold[]
  readonly now: number
  readonly problem: Problem | undefined
  readonly fit: Fit
}

export const isHeld = (holds: readonly OperationalHold[]): boolean => holdOf(holds, 'Pause', 'Freeze') !== undefined
