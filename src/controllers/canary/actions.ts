// What a canary may do.
import type { ComponentConfigInput, DeclaredComponent } from '#api/kinds/component-config.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { RenewAction, RequestAction } from '#permits/permit-actions.ts'
import type { TargetResult } from '#permits/permits.ts'

export type CanaryAction =
  | { readonly kind: 'CreateConfig'; readonly reason: string; readonly config: ComponentConfigInput }
  | RequestAction
  | RenewAction
  | {
      readonly kind: 'Report'
      readonly reason: string
      readonly permit: OperationPermit
      readonly wanted: DeclaredComponent
      readonly results: readonly MachineResult[]
    }

export interface MachineResult {
  readonly machine: string
  readonly uid: string
  readonly result: TargetResult
}
