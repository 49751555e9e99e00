// The actions on a set and its machines as one closed union, and the rest of a plan. Pure.
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { Reason } from '#api/catalogue.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { counted } from '#lib/counted.ts'
import { ApiError } from '#kube/errors.ts'
import type { WriteOutcome } from '#kube/outcome.ts'
import type { PermitAction } from '#permits/permit-actions.ts'
import type { ActionOutcome, Notice, Plan } from '#runtime/reconcile-with.ts'

export type MachineSetAction =
  | { readonly kind: 'Adopt'; readonly machine: Machine; readonly reason: string }
  /** Before it creates any machine: without the finalizer, garbage collection would take all of them when the set is deleted. */
  | { readonly kind: 'AddFinalizer'; readonly reason: string }
  | { readonly kind: 'RemoveFinalizer'; readonly reason: string }
  /** From a set that is being deleted to another one in one write, so that the machine always has an owner. */
  | { readonly kind: 'HandOver'; readonly machine: Machine; readonly to: MachineSet; readonly reason: string }
  | { readonly kind: 'Release'; readonly machine: Machine; readonly reason: string }
  /** The provider from the corrected template. */
  | { readonly kind: 'TakeProvider'; readonly machine: Machine; readonly reason: string }
  /** `spec.ssh` as the set lists its host now. */
  | { readonly kind: 'TakeLogin'; readonly machine: Machine; readonly reason: string }
  /** Labels, annotations and taints of the template. `permit`: for a taint that evicts pods. */
  | { readonly kind: 'TakeTemplate'; readonly machine: Machine; readonly permit?: string; readonly reason: string }
  | { readonly kind: 'Create'; readonly count: number; readonly reason: string }
  | PermitAction
  | { readonly kind: 'Delete'; readonly machine: Machine; readonly permit?: string; readonly reason: string }
  /** Before the machines are deleted: after a crash in between, the hour counts one too many, never one too few. */
  | { readonly kind: 'RecordLosses'; readonly machines: readonly Machine[]; readonly reason: string }
  /** Its host no longer exists. The Machine is deleted too, so that another one is created. */
  | { readonly kind: 'Bury'; readonly machine: Machine; readonly reason: string }

export interface MachineSetPlan extends Plan<MachineSetAction> {
  /** What keeps the set from its replicas, for the status. */
  readonly waiting?: Waiting
  readonly freeze?: Freeze
}

export type Extra = Pick<MachineSetPlan, 'waiting' | 'freeze'>

export interface Waiting {
  readonly predicate:
    | 'PermitGranted'
    | 'PermitDenied'
    | 'WithinUnavailable'
    | 'NotHeld'
    | 'Succession'
    | 'MachinesGone'
    | 'HostsMade'
    | 'ClusterLeaves'
  readonly seen: string
  readonly unblock: string
  /** The answer of the Defender's gate, if it adds to the request. */
  readonly because?: Reason
  /** Reconcile again after this many milliseconds, even without a change. */
  readonly requeueMs?: number
}

interface Freeze {
  readonly reason: 'OvershootFreeze' | 'ZoneOutage' | 'HostsGone' | 'HoldPause' | 'HoldFreeze'
  readonly message: string
}

export function noticeOf(action: MachineSetAction): Notice[] {
  switch (action.kind) {
    case 'Create':
      return [{ reason: 'Creating', message: `created ${counted(action.count, 'machine')}: ${action.reason}` }]
    case 'TakeProvider':
      return [
        {
          reason: 'ProviderChanged',
          message: `machine ${nameOf(action.machine)} takes the provider of the template: ${action.reason}`,
        },
      ]
    case 'TakeLogin':
      return [
        {
          reason: 'TemplateApplied',
          message: `machine ${nameOf(action.machine)} takes spec.ssh of the template: ${action.reason}`,
        },
      ]
    case 'TakeTemplate':
      return [
        {
          reason: 'TemplateApplied',
          message: `machine ${nameOf(action.machine)} takes labels, annotations and taints of the template: ${action.reason}`,
        },
      ]
    case 'Delete':
      return [{ reason: 'Removing', message: `removing machine ${nameOf(action.machine)}: ${action.reason}` }]
    case 'Bury':
      return [{ reason: 'Replacing', message: `replacing machine ${nameOf(action.machine)}: ${action.reason}` }]
    case 'HandOver':
      return [
        {
          reason: 'HandingOver',
          message: `handing machine ${nameOf(action.machine)} over to set ${nameOf(action.to)}: ${action.reason}`,
        },
      ]
    case 'AddFinalizer':
    case 'RemoveFinalizer':
    case 'RecordLosses':
    case 'Adopt':
    case 'Release':
    case 'RequestPermit':
    case 'RenewPermit':
    case 'ReportResult':
      return []
    default:
      return action satisfies never
  }
}

/** The object to delete no longer exists. */
export const deletedIsDone = (outcome: WriteOutcome<unknown>): ActionOutcome =>
  outcome.kind === 'Stale' && outcome.error instanceof ApiError && outcome.error.status === 404
    ? { kind: 'Applied', object: undefined }
    : outcome
