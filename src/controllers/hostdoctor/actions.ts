// What the host doctor can do about one event, and what it writes down.
import type { Reason } from '#api/catalogue.ts'
import type { MaintenanceStatus } from '#api/kinds/maintenance-event.ts'
import type { MaintenanceAnswer } from '#providers/port.ts'
import type { PermitAction } from '#permits/permit-actions.ts'
import type { Authority } from '#permits/under-permit.ts'
import type { Plan } from '#runtime/reconcile-with.ts'

export type DoctorAction =
  | PermitAction
  | { readonly kind: 'Cordon' | 'Drain' | 'Reboot'; readonly reason: string; readonly by: Authority }
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

/** Undefined: it is taken off. Times are written as they are. */
export type StatusChange = Partial<{ readonly [K in keyof MaintenanceStatus]: MaintenanceStatus[K] | undefined }>

export interface DoctorPlan extends Plan<DoctorAction> {
  readonly change?: StatusChange
  readonly waiting?: Waiting
}
