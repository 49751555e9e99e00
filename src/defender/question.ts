// The question to a gate, and the data that it may use.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { CompiledPolicy } from './compile-policy.ts'
import type { Unit } from './unit.ts'
import type { WorkingLedger } from './ledger.ts'
import type { Levels } from './levels.ts'
import type { Snapshot } from './snapshot.ts'

export interface Question {
  readonly permit: OperationPermit
  readonly unit: Unit
  /** Believed only after it was checked. */
  readonly isRecovery: boolean
  /** A recovery of a release whose pipeline exempts reverts from budgets. */
  readonly isBudgetExempt?: boolean
  /** Those that decide this operation on this unit; never empty. */
  readonly policies: readonly CompiledPolicy[]
}

export interface Ground {
  readonly snapshot: Snapshot
  readonly ledger: WorkingLedger
  readonly levels: Levels
}
