// The state of a rollout or a canary, in lines for users. Pure.
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { counted } from '#lib/counted.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { unblockLines } from '../unblock.ts'
import type { Revision } from './revisions.ts'
import { rolloutErrors } from './rollout-errors.ts'

type Rows = readonly (readonly string[])[]

export function historyRows(
  set: MachineComponentSet,
  revisions: readonly Revision[],
  called: (commit: string) => string,
): Rows {
  const { current, update } = set.status?.revisions ?? {}
  return revisions.map((r) => [
    String(r.number),
    r.name,
    [r.name === update ? 'target' : '', r.name === current ? 'last healthy' : '', r.failed.length > 0 ? 'failed' : '']
      .filter(Boolean)
      .join(', '),
    r.commit === undefined ? '' : called(r.commit),
    r.components.map((c) => `${c.name} ${c.version}`).join(', '),
  ])
}

export function setLines(set: MachineComponentSet, holds: readonly OperationalHold[]): readonly string[] {
  const { phase = 'Pending', counts, waitingFor, slices = [], skipped = [], revisions } = set.status ?? {}
  const { total = 0, updated = 0, healthy = 0, failed = 0 } = counts ?? {}
  // The machines that are not updated serve as before: a bare "0 healthy" would read as an outage.
  const ofThem = updated === 0 ? '' : ` (${healthy} of them healthy)`
  // A machine that went back by itself serves, and is no failed one any more: the reason of the block names it.
  const ofFailed = failed === 0 && (revisions?.blocked ?? []).length > 0 ? '' : `, ${failed} failed`
  return [
    `set/${set.metadata.name} is ${phase}: ${updated} of ${counted(total, 'machine is', 'machines are')} updated${ofThem}${ofFailed}, ${counts?.skipped ?? 0} skipped`,
    ...(waitingFor === undefined
      ? []
      : [
          `waiting since ${waitingFor.since}: ${waitingFor.predicate}: ${waitingFor.seen ?? ''}`,
          ...unblockLines(waitingFor.unblock ?? '').map((line) => `  ${line}`),
        ]),
    ...(revisions?.blocked ?? [])
      .map((b) => ({ since: b.since, text: `${b.component}: ${b.reason}` }))
      .map(({ since, text }) => `blocked since ${since}${waitingFor?.seen === text ? '' : `: ${text}`}`),
    ...holds.map(holdLine),
    ...slices
      .filter((w) => w.phase !== 'Passed')
      .map(
        (w) =>
          `  ${w.component} ${w.version ?? 'leaves'} step ${w.step + 1} slice ${w.number + 1}: ${w.phase}, ${counted(w.machines.length, 'machine')}${w.waitingFor?.seen === undefined ? '' : `, ${w.waitingFor.seen}`}`,
      ),
    ...skipped.slice(0, 10).map((s) => `  skipped ${s.machine}: ${s.reason}`),
  ]
}

/** A retry is of the failures before it: that it stays until it expires says nothing. */
const holdLine = ({ metadata, spec }: OperationalHold): string =>
  `${spec.effect === 'Retry' ? `Retry at ${metadata.creationTimestamp ?? 'an unknown time'}` : `${spec.effect} until ${spec.until}`} by ${spec.author}: ${spec.reason}`

const FAILURES: ReadonlySet<string> = new Set(['RevisionFailed', 'RolledBackByAgent', 'TooManyFailures'])

/** A retry of what did not fail would do nothing now, and retry a failure that comes later. */
export function refuseUnlessFailed({ metadata, status = {} }: MachineComponentSet): void {
  const { phase = 'Pending', revisions, counts, slices = [], conditions = [] } = status
  const hasFailed =
    (revisions?.blocked ?? []).length > 0 ||
    (counts?.failed ?? 0) > 0 ||
    slices.some((s) => s.phase === 'Failed') ||
    conditions.some((c) => c.type === 'Stalled' && c.status === 'True' && FAILURES.has(c.reason))
  if (!hasFailed) throw new KubeNodeError(rolloutErrors.KN1398({ what: `set/${metadata.name}`, phase }))
}

export function canaryLines(canary: ComponentCanary): readonly string[] {
  const { phase = 'Pending', counts, waitingFor, observeUntil } = canary.status ?? {}
  const { total = 0, healthy = 0, failed = 0 } = counts ?? {}
  const what = canary.spec.components.map((c) => `${c.name} ${c.version}`).join(', ')
  return [
    `canary/${canary.metadata.name} (${what}) is ${phase}: ${healthy} of ${counted(total, 'machine is', 'machines are')} healthy, ${failed} failed`,
    ...(observeUntil === undefined || phase !== 'Observing' ? [] : [`observing until ${observeUntil}`]),
    ...(waitingFor === undefined
      ? []
      : [`waiting: ${waitingFor.seen ?? ''}`, ...unblockLines(waitingFor.unblock ?? '').map((line) => `  ${line}`)]),
  ]
}

export const canaryRows = ({ status }: ComponentCanary): Rows =>
  (status?.results ?? []).map((r) => [r.machine, r.component, r.state, r.healthySince ?? '', r.message ?? ''])
