// The rule before every disruption: its permit is read again from the server right before, and must be Granted for this exact target and operation.
// Disruptive functions take a `Clearance`, which only this file creates.
import { type Disruption as Operation, type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { whyNotAllowed } from '#api/protocol/permit-allows.ts'
import type { KubeClient } from '#kube/client.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import type { ActionOutcome } from '#runtime/reconcile-with.ts'

declare const cleared: unique symbol

/** Proof that a disruption was just permitted, or needs no permit. */
export interface Clearance {
  readonly [cleared]: true
}

/** Actions without a permit, and why: they disrupt nothing that serves. */
export const EXEMPTIONS = {
  NeverServed: 'the machine was never in service, so that no workload relies on it',
  NotOpenYet: 'the node takes no pods yet',
  HostGone: 'the provider does not know the host any longer, and its machine is silent',
  HostKept: 'the provider only forgets a host that stays as it is',
  NoMachine: 'the host belongs to no Machine; its own grace period and policy decide',
  Postponed: 'the work on the host is asked to be moved to a later time',
  Rotates: 'credentials of a control plane are rotated while those of before still serve',
  NoChange: 'the control plane is created, started, or kept as it is declared',
} as const
export type Exemption = keyof typeof EXEMPTIONS

/** What authorizes an action to disrupt. The plan sets it, and `underPermit` checks it. */
export type Authority = { readonly permit: string } | { readonly exempt: Exemption }

export const byPermit = ({ metadata }: OperationPermit): Authority => ({ permit: metadata.name ?? '' })

/** A permit as the server has it now. */
export type ReadPermit = (name: string, signal?: AbortSignal) => Promise<WriteOutcome<OperationPermit | undefined>>

export const readingPermits =
  (client: Pick<KubeClient, 'get'>): ReadPermit =>
  (name, signal) =>
    outcomeOf(() => client.get(operationPermit, { name }, signal && { signal }))

export interface Disruption {
  readonly by: Authority
  /** The operations. The permit must be for one of them. None: the action disrupts nothing, such as a report to a vendor. */
  readonly operations: readonly Operation[]
  /** UID of the target. */
  readonly target: string
  readonly signal?: AbortSignal | undefined
}

type NotPermitted = Exclude<ActionOutcome, { readonly kind: 'Applied' }>

/**
 * Reads the permit, then disrupts. Returns `Outdated` if the permit does not allow it, and the error if it cannot be read: unknown never disrupts.
 */
export async function underPermit<R>(
  read: ReadPermit,
  { by, operations, target, signal }: Disruption,
  disrupt: (clearance: Clearance, permit: OperationPermit | undefined) => Promise<R>,
): Promise<R | NotPermitted> {
  if ('exempt' in by) return disrupt(exempt(by.exempt), undefined)
  const outcome = await read(by.permit, signal)
  if (outcome.kind !== 'Applied') return outcome
  const why = whyNotAllowed(outcome.object, { operations, targets: [target] })
  if (why === undefined) return disrupt(clearance, outcome.object)
  const act = operations.length === 0 ? 'operation' : operations.join(' or ')
  return { kind: 'Outdated', reason: `permit ${by.permit} allows no ${act}: ${why}` }
}

const clearance = {} as Clearance

/** For work outside a plan's actions. */
export const exempt = (_why: Exemption): Clearance => clearance
