// The actions of the host doctor on one event, and the status fields it writes.
import type { Reason } from '#api/catalogue.ts'
import type { MaintenanceStatus } from '#api/kinds/maintenance-event.ts'
import type { MaintenanceAnswer } from '#providers/port.ts'
import type { PodWaits } from '#nodes/pod-waits.ts'
import type { PermitAction } from '#permits/permit-actions.ts'
import type { Authority } from '#permits/under-permit.ts'
import type { Plan } from '#runtime/reconcile-with.ts'

export type DoctorAction =
  | PermitAction
  | { readonly kind: 'Cordon' | 'Reboot'; readonly reason: string; readonly by: Authority }
  | { readonly kind: 'Drain'; readonly reason: string; readonly by: Authority; readonly waits?: PodWaits }
  | { readonly kind: 'Uncordon'; readonly reason: string }
  | { readonly kind: 'Respond'; readonly reason: string; readonly answer: MaintenanceAnswer; readonly by: Authority }
  | { readonly kind: 'DeleteEvent'; readonly reason: string }
  /** Keeps a deleted event until its node is uncordoned and its slot is released. */
  | { readonly kind: 'KeepRecord'; readonly reason: string }
  | { readonly kind: 'ReleaseRecord'; readonly reason: string }

export interface Waiting {
  readonly predicate: Reason
  readonly seen: string
  readonly unblock: string
}

/** Undefined removes the field. Times are written unchanged. */
export type StatusChange = Partial<{ readonly [K in keyof MaintenanceStatus]: MaintenanceStatus[K] | undefined }>

export interface DoctorPlan extends Plan<DoctorAction> {
  readonly change?: StatusChange
  readonly waiting?: Waiting
}
