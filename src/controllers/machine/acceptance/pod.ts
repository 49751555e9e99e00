// The acceptance of a Node by a pod: what its attempt needs next, and when its pod is deleted. Pure. At most one pod is created for an attempt: once its
// UID is recorded, a missing pod is a lost result.
import type { AcceptanceReport, AcceptanceStatus, MachineAcceptance } from '#api/kinds/machine.ts'
import { MAX_ACCEPTANCE_OUTPUT } from '#api/kinds/machine-acceptance.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import { parseDuration } from '#lib/duration.ts'
import { shortened } from '#lib/shortened.ts'
import { acceptancePodOf, isEnded, noTemplateText, podRefOf, podResult } from '#nodes/acceptance-pod.ts'
import type { MachineAction } from '../actions.ts'
import type { Seen } from '../seen.ts'

export const MAX_MESSAGE = 200

/** Pods are not watched: a node joins rarely. */
export const POD_REQUEUE_MS = 5_000
/** After its deletion was requested. */
export const POD_ENDS_REQUEUE_MS = 1_000
export const TEMPLATE_REQUEUE_MS = 15_000

type About = Pick<Seen, 'machine' | 'node' | 'acceptancePod'>
type Result = Required<Pick<AcceptanceReport, 'outcome' | 'output'>>

export type PodStep =
  | { readonly kind: 'Ended'; readonly record: AcceptanceStatus; readonly result: Result }
  | { readonly kind: 'Open'; readonly record: AcceptanceStatus; readonly action?: MachineAction }

/** `leftMs`: until an attempt without a result ends. */
export function podStep(
  { machine, node, acceptancePod }: About,
  acceptance: MachineAcceptance,
  before: AcceptanceStatus,
  leftMs: number,
): PodStep {
  const { pod, template } = acceptancePod ?? {}
  const found = pod && podRefOf(pod, uidOf(machine), before.node)
  const { message, ...plain } = before
  const ref = before.pod ?? found
  if (ref === undefined) {
    if (leftMs <= 0) return ended(before, 'Unknown', message ?? 'no pod was created in time')
    const wanted = acceptance.pod?.template ?? ''
    if (template === undefined || node === undefined)
      return { kind: 'Open', record: { ...plain, message: noTemplate(wanted) } }
    const owner = machine
    const target = { name: nameOf(node), uid: before.node }
    const timeoutMs = parseDuration(acceptance.timeout)
    const created = acceptancePodOf({ run: before.run, node: target, owner, template, timeoutMs })
    const reason = `attempt ${before.attempt} of the acceptance`
    return { kind: 'Open', record: before, action: { kind: 'StartAcceptancePod', pod: created, reason } }
  }
  const record = { ...plain, pod: ref }
  if (pod === undefined || found?.uid !== ref.uid) return ended(record, 'Unknown', `pod ${ref.name} was deleted`)
  const result = podResult(pod)
  if (result.kind === 'Ended') return ended(record, result.outcome, result.output)
  if (leftMs <= 0) return ended(record, 'Unknown', `no result in time: pod ${ref.name} is ${result.seen}`)
  return {
    kind: 'Open',
    record:
      result.seen === 'Running'
        ? record
        : { ...record, message: shortened(`pod ${ref.name} is ${result.seen}`, MAX_MESSAGE) },
  }
}

const ended = (record: AcceptanceStatus, outcome: Result['outcome'], output: string): PodStep => ({
  kind: 'Ended',
  record,
  result: { outcome, output: [...output].slice(-MAX_ACCEPTANCE_OUTPUT).join('') },
})

export const noTemplate = (name: string): string => shortened(noTemplateText(name), MAX_MESSAGE)

/** What the record says while no pod could be created. */
export const notCreated = (record: AcceptanceStatus, why: string): AcceptanceStatus => ({
  ...record,
  message: shortened(`cannot create its pod: ${why}`, MAX_MESSAGE),
})

/** The pod of an attempt that did not pass stays until the next one starts, so that people can read its log. Nothing is deleted before the result is recorded. */
export function podToEnd(
  { machine, acceptancePod }: Pick<Seen, 'machine' | 'acceptancePod'>,
  next: AcceptanceStatus | undefined,
): MachineAction[] {
  const before = machine.status?.acceptance
  const pod = acceptancePod?.pod
  if (before?.pod === undefined || pod === undefined || uidOf(pod) !== before.pod.uid) return []
  if (pod.metadata.deletionTimestamp !== undefined) return []
  const isOfNext = next?.run === before.run
  const isKept = isOfNext && (before.phase === 'Running' || (before.phase !== 'Passed' && isEnded(pod)))
  return isKept
    ? []
    : [
        {
          kind: 'EndAcceptancePod',
          pod: before.pod,
          reason: 'the result of its attempt is recorded, or no longer needed',
        },
      ]
}
