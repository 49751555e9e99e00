// The actions of a canary.
import type { ComponentConfigInput, DeclaredComponent } from '#api/kinds/component-config.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { MachineResult } from '#permits/let-go.ts'
import type { RenewAction, RequestAction } from '#permits/permit-actions.ts'

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
