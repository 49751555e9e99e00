// What a requester does with a permit, as one closed union, and the one place that carries it out.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { assertNever } from '#lib/errors.ts'
import type { WriteOutcome } from '#kube/outcome.ts'
import type { ActionOutcome } from '#runtime/reconcile-with.ts'
import {
  type PermitRequest,
  type PermitTools,
  type TargetResult,
  renewPermit,
  reportResults,
  requestPermit,
} from './permits.ts'

export interface RequestAction {
  readonly kind: 'RequestPermit'
  readonly reason: string
  readonly permit: string
  readonly request: PermitRequest
}

export type PermitAction =
  | RequestAction
  | { readonly kind: 'RenewPermit'; readonly reason: string; readonly permit: OperationPermit }
  | {
      readonly kind: 'ReportResult'
      readonly reason: string
      readonly permit: OperationPermit
      readonly target: string
      readonly result: TargetResult
    }

/** Carries out one action. Each may be repeated: after a crash or a lost reply the next pass finds it done. */
export async function actOnPermit(tools: PermitTools, action: PermitAction, nowMs: number): Promise<ActionOutcome> {
  switch (action.kind) {
    case 'RequestPermit':
      return existsIsDone(await requestPermit(tools, action.permit, action.request))
    case 'RenewPermit':
      return renewPermit(tools, action.permit, nowMs)
    case 'ReportResult':
      return deletedIsDone(await reportResults(tools, action.permit, { [action.target]: action.result }))
    default:
      return assertNever(action)
  }
}

/** Requested before a crash, or by a pass whose reply was lost: the caches will show it. */
const existsIsDone = (outcome: WriteOutcome<unknown>): ActionOutcome =>
  outcome.kind === 'Exists' ? { kind: 'Applied', object: undefined } : outcome

/** A permit that was deleted holds nothing that a result could free: the Defender watches the target instead. */
const deletedIsDone = (outcome: WriteOutcome<unknown>): ActionOutcome =>
  outcome.kind === 'Stale' ? { kind: 'Applied', object: undefined } : outcome
