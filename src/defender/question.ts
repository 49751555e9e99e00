// The input of a gate: the question, and the data it may use.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { CompiledPolicy } from './compile-policy.ts'
import type { Unit } from './unit.ts'
import type { WorkingLedger } from './ledger.ts'
import type { Levels } from './levels.ts'
import type { Snapshot } from './snapshot.ts'

export interface Question {
  readonly permit: OperationPermit
  readonly unit: Unit
  /** True only after verification. */
  readonly isRecovery: boolean
  /** A recovery in a release whose pipeline exempts reverts from budgets. */
  readonly isBudgetExempt?: boolean
  /** The policies that decide this operation on this unit. Never empty. */
  readonly policies: readonly CompiledPolicy[]
}

export interface GateContext {
  readonly snapshot: Snapshot
  readonly ledger: WorkingLedger
  readonly levels: Levels
}
