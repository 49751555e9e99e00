// What a canary may do.
import type { ComponentConfigInput, DeclaredComponent } from '#api/kinds/component-config.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { PermitRequest, TargetResult } from '#permits/permits.ts'

export type CanaryAction =
  | { readonly kind: 'CreateConfig'; readonly reason: string; readonly config: ComponentConfigInput }
  | { readonly kind: 'Ask'; readonly reason: string; readonly permit: string; readonly request: PermitRequest }
  | { readonly kind: 'Renew'; readonly reason: string; readonly permit: OperationPermit }
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
