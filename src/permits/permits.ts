// The requester's side of OperationPermits: request, renew, report, and read the answer. A permit that cannot be read or is not Granted allows
// nothing.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type OperationPermit, type OperationPermitInput, operationPermit } from '#api/kinds/operation-permit.ts'
import { ANNOTATIONS, type FieldManager } from '#api/names.ts'
import { rulingOn } from '#api/protocol/permit-allows.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { microTimestamp } from '#lib/clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import { updateExactly } from '#runtime/preconditions.ts'
import { defined } from '#lib/defined.ts'

export type PermitRequest = Omit<OperationPermitInput['spec'], 'renewTime' | 'results'>
export type TargetResult = 'Succeeded' | 'Failed' | 'Released'

type Requester = PermitRequest['requester']
type Target = PermitRequest['targets'][number]

export const requesterOf = (
  manager: FieldManager,
  kind: string,
  { metadata }: Pick<KubeObject, 'metadata'>,
): Requester => {
  const { name, namespace, uid } = metadata
  return { manager, kind, ...defined({ name, namespace, uid }) }
}

export const targetRef = (kind: Target['kind'], { metadata }: Pick<KubeObject, 'metadata'>): Target => {
  const { name = '', namespace, uid = '' } = metadata
  return { kind, name, uid, ...defined({ namespace }) }
}

/** The commit that an object was applied from. That commit requires the operation. */
export const commitOf = ({ metadata }: Pick<KubeObject, 'metadata'>): { readonly commit?: string } =>
  defined({ commit: metadata.annotations?.[ANNOTATIONS.commit] })

const OPEN: ReadonlySet<string> = new Set(['Requested', 'Granted'])

/** Waits for the Defender or holds slots. In any other phase it has ended, and another permit is needed. */
export const isOpen = ({ status }: OperationPermit): boolean => OPEN.has(status?.phase ?? 'Requested')

/** A missing permit has not ended: it may be too new for a cache. */
export const hasEnded = (permit: OperationPermit | undefined): boolean => permit !== undefined && !isOpen(permit)

/** Nothing can have been ordered under it. */
export const isUndecided = ({ status }: OperationPermit): boolean => (status?.phase ?? 'Requested') === 'Requested'

/** The permit's answer for one target. `Waiting` names the gate, to explain the wait. */
export type PermitAnswer =
  | { readonly kind: 'Granted' }
  | { readonly kind: 'Waiting'; readonly seen: string }
  /** Refused, expired, revoked or used up: another permit is needed. */
  | { readonly kind: 'Ended'; readonly seen: string }
  | { readonly kind: 'Absent' }

export function permitAnswer(permit: OperationPermit | undefined, targetUid: string): PermitAnswer {
  if (permit === undefined) return { kind: 'Absent' }
  const ruling = rulingOn(permit, { operations: [], targets: [targetUid] })
  if (ruling.kind === 'Granted') return ruling
  return { kind: ruling.kind === 'Undecided' ? 'Waiting' : 'Ended', seen: ruling.why }
}

/** A permit is renewed after this share of its lease, which leaves two more attempts before it expires. */
const RENEW_AFTER = 1 / 3

/**
 * Whether the lease is due for renewal, counted from the last renewal or, before the first one, from the decision. Either time may come from a
 * program whose clock is far ahead. Waiting for that clock would let the lease expire, because the Defender uses a stopwatch.
 */
export function isRenewalDue(permit: OperationPermit, nowMs: number): boolean {
  if (permit.status?.phase !== 'Granted') return false
  return Math.abs(nowMs - lastRenewal(permit)) >= permit.spec.leaseSeconds * 1_000 * RENEW_AFTER
}

/** No renewal for a whole lease: its requester did not run, or could not reach the API server. */
export const wasUnattended = (permit: OperationPermit, nowMs: number): boolean =>
  nowMs - lastRenewal(permit) > permit.spec.leaseSeconds * 1_000

const lastRenewal = ({ spec, status }: OperationPermit): number => timeOf(spec.renewTime ?? status?.decidedAt)

const timeOf = (text: string | undefined): number => (text === undefined ? 0 : Date.parse(text) || 0)

export interface PermitTools {
  readonly client: KubeClient
  readonly fieldManager: FieldManager
  readonly signal?: AbortSignal
}

/** Requests under a name derived from the request, so that a second request has no effect. `Exists` is as good as `Applied`. */
export function requestPermit(
  { client, fieldManager, signal }: PermitTools,
  name: string,
  spec: PermitRequest,
): Promise<WriteOutcome<OperationPermit>> {
  const object = { apiVersion: API_GROUP_VERSION, kind: operationPermit.kind, metadata: { name }, spec }
  return outcomeOf(() =>
    client.create(operationPermit, object as unknown as OperationPermit, { fieldManager, ...defined({ signal }) }),
  )
}

export function renewPermit(
  tools: PermitTools,
  permit: OperationPermit,
  nowMs: number,
): Promise<WriteOutcome<OperationPermit>> {
  return writeSpec(tools, permit, { ...permit.spec, renewTime: microTimestamp(nowMs) })
}

/** Frees the slots of these targets. An existing result stays. */
export function reportResults(
  tools: PermitTools,
  permit: OperationPermit,
  results: Readonly<Record<string, TargetResult>>,
): Promise<WriteOutcome<OperationPermit>> {
  return writeSpec(tools, permit, { ...permit.spec, results: { ...results, ...permit.spec.results } })
}

function writeSpec(
  { client, fieldManager, signal }: PermitTools,
  permit: OperationPermit,
  spec: OperationPermit['spec'],
): Promise<WriteOutcome<OperationPermit>> {
  return updateExactly(client, operationPermit, { ...permit, spec }, { fieldManager, ...defined({ signal }) })
}
