// What a requester does with a permit, as one closed union, and the only code that carries it out.
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { defined } from '#lib/defined.ts'
import { assertNever } from '#lib/errors.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
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

export interface RenewAction {
  readonly kind: 'RenewPermit'
  readonly reason: string
  readonly permit: OperationPermit
}

export interface ReportAction {
  readonly kind: 'ReportResult'
  readonly reason: string
  readonly permit: OperationPermit
  readonly target: string
  readonly result: TargetResult
}

export type PermitAction = RequestAction | RenewAction | ReportAction

/** Carries out one action. Each can be repeated: after a crash or a lost reply the next pass finds it done. */
export async function actOnPermit(tools: PermitTools, action: PermitAction, nowMs: number): Promise<ActionOutcome> {
  switch (action.kind) {
    case 'RequestPermit':
      return askedOnce(tools, action, await requestPermit(tools, action.permit, action.request))
    case 'RenewPermit':
      return renewPermit(tools, action.permit, nowMs)
    case 'ReportResult':
      return deletedIsDone(await reportResults(tools, action.permit, { [action.target]: action.result }))
    default:
      return assertNever(action)
  }
}

/** A permit with this name was requested before a crash, or by a pass whose reply was lost. It is just as good, unless it is for other targets. */
async function askedOnce(
  { client, signal }: PermitTools,
  { permit: name, request }: RequestAction,
  outcome: WriteOutcome<OperationPermit>,
): Promise<ActionOutcome> {
  if (outcome.kind !== 'Exists') return outcome
  const read = await outcomeOf(() => client.get(operationPermit, { name }, defined({ signal })))
  if (read.kind !== 'Applied' || isForTargets(read.object, request)) return read
  return outdated(`permit ${name} was requested for other targets`)
}

const isForTargets = (permit: OperationPermit | undefined, { targets }: PermitRequest): boolean => {
  const uids = new Set(permit?.spec.targets.map((t) => t.uid))
  return uids.size === targets.length && targets.every((t) => uids.has(t.uid))
}

/** A deleted permit has no slot to free: the Defender watches the target instead. */
export const deletedIsDone = (outcome: WriteOutcome<unknown>): ActionOutcome =>
  outcome.kind === 'Stale' ? { kind: 'Applied', object: undefined } : outcome
