// The actions of the controller of machines that are managed over SSH.
import type { Plan } from '#runtime/reconcile-with.ts'

export interface VisitAction {
  /** Opens a session, and does on the host what an agent would do. Can be cut at any point and repeated. */
  readonly kind: 'Visit'
  readonly reason: string
}

export type VisitPlan = Plan<VisitAction>
