// All actions of a rollout, each with its reason.
import type { ComponentConfigInput } from '#api/kinds/component-config.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Pod } from '#nodes/objects.ts'
import type { MachineResult } from '#permits/let-go.ts'
import type { RenewAction, RequestAction } from '#permits/permit-actions.ts'
import type { ComponentTarget } from '#api/protocol/component-order.ts'
import type { ControllerRevision } from './revisions/revisions.ts'

export type SetAction =
  | { readonly kind: 'CreateRevision'; readonly reason: string; readonly revision: ControllerRevision }
  | { readonly kind: 'RenumberRevision'; readonly reason: string; readonly revision: ControllerRevision }
  /** Records on a revision what failed, or that the failure no longer blocks it. */
  | {
      readonly kind: 'KeepEvidence'
      readonly reason: string
      readonly revision: ControllerRevision
      readonly evidence: string
    }
  /** Records on a revision which components completed their ladder. */
  | {
      readonly kind: 'KeepCompleted'
      readonly reason: string
      readonly revision: ControllerRevision
      readonly completed: string
    }
  | { readonly kind: 'DeleteRevision'; readonly reason: string; readonly revision: ControllerRevision }
  | { readonly kind: 'CreateConfig'; readonly reason: string; readonly config: ComponentConfigInput }
  | RequestAction
  | RenewAction
  | { readonly kind: 'StartProbePod' | 'EndProbePod'; readonly reason: string; readonly pod: Pod }
  /** Each result is checked against a fresh read of the machine before it frees a slot. */
  | {
      readonly kind: 'Report'
      readonly reason: string
      readonly permit: OperationPermit
      readonly target: ComponentTarget
      /** Start time of the slice, if there is one. */
      readonly startedAt: string | undefined
      readonly results: readonly MachineResult[]
    }
