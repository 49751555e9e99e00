// The state of a rollout or a canary. Pure.
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { activeMachines, sliceName } from '#api/protocol/part.ts'
import { counted } from '#lib/counted.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { findCondition } from '#kube/conditions.ts'
import { causeOf, type Finding, notesOf, type Story } from '../finding.ts'
import { type Moment, sinceText, waitFindings } from '../wait.ts'
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

interface Around extends Moment {
  /** Holds on the set. Followers of a rollout leave them out, and only show the command that ends one. */
  readonly holds?: readonly OperationalHold[]
}

export function setStory(set: MachineComponentSet, { holds = [], ...moment }: Around): Story {
  const { phase = 'Pending', counts, waitingFor, slices = [], skipped = [], revisions } = set.status ?? {}
  const { total = 0, updated = 0, healthy = 0, failed = 0 } = counts ?? {}
  const blocked = revisions?.blocked ?? []
  // Machines that are not updated serve as before: a bare "0 healthy" would read as an outage.
  const ofThem = updated === 0 ? '' : ` (${healthy} of them healthy)`
  // A machine that reverted by itself serves again and no longer counts as failed; the block's reason names it.
  const ofFailed = failed === 0 && blocked.length > 0 ? '' : `, ${failed} failed`
  const word = `set/${set.metadata.name ?? ''}`
  return {
    object: word,
    text: `${word} is ${phase}: ${updated} of ${counted(total, 'machine is', 'machines are')} updated${ofThem}${ofFailed}, ${counts?.skipped ?? 0} skipped`,
    below: [
      ...waitFindings(waitingFor, moment, word),
      ...(waitingFor === undefined ? paused(set, moment) : []),
      ...blocked
        .filter(({ component, reason }) => waitingFor?.seen !== `${component}: ${reason}`)
        .map(({ since, component, reason, revision }): Finding => ({
          text: `Blocked${sinceText(since, moment.now)}: ${component}: ${reason}`,
          cause: causeOf(word, revision),
          urgency: 'Blocked',
        })),
      ...notesOf(holds.map(holdText)),
      ...notesOf(
        slices
          .filter((s) => s.phase !== 'Passed')
          .map(
            (s) =>
              `${sliceName(s)}: ${s.phase}, ${counted(activeMachines(s).length, 'machine')}${s.waitingFor?.seen === undefined ? '' : `, ${s.waitingFor.seen}`}`,
          ),
      ),
      ...notesOf(skipped.slice(0, MOST_SKIPPED).map((s) => `skipped ${s.machine}: ${s.reason}`)),
    ],
  }
}

const MOST_SKIPPED = 10

/** A hold that took effect while the set waited for nothing. */
function paused({ status }: MachineComponentSet, { holdEnds }: Moment): readonly Finding[] {
  const condition = findCondition(status?.conditions, 'Paused')
  return holdEnds === undefined || condition === undefined
    ? []
    : [{ text: `paused: ${condition.message}`, urgency: 'Waiting', ...holdEnds }]
}

/** A retry only covers earlier failures, so its expiry is not shown. */
const holdText = ({ metadata, spec }: OperationalHold): string =>
  `${spec.effect === 'Retry' ? `Retry at ${metadata.creationTimestamp ?? 'an unknown time'}` : `${spec.effect} until ${spec.until}`} by ${spec.author}: ${spec.reason}`

const FAILURES: ReadonlySet<string> = new Set(['RevisionFailed', 'RolledBackByAgent', 'TooManyFailures'])

/** Retrying a set that did not fail would do nothing now, but retry a later failure. */
export function refuseUnlessFailed({ metadata, status = {} }: MachineComponentSet): void {
  const { phase = 'Pending', revisions, counts, slices = [], conditions = [] } = status
  const hasFailed =
    (revisions?.blocked ?? []).length > 0 ||
    (counts?.failed ?? 0) > 0 ||
    slices.some((s) => s.phase === 'Failed') ||
    conditions.some((c) => c.type === 'Stalled' && c.status === 'True' && FAILURES.has(c.reason))
  if (!hasFailed) throw new KubeNodeError(rolloutErrors.KN1374_retry({ what: `set/${metadata.name}`, phase }))
}

export function canaryStory(canary: ComponentCanary, now: number): Story {
  const { phase = 'Pending', counts, waitingFor, observeUntil } = canary.status ?? {}
  const { total = 0, healthy = 0, failed = 0 } = counts ?? {}
  const what = canary.spec.components.map((c) => `${c.name} ${c.version}`).join(', ')
  const word = `canary/${canary.metadata.name ?? ''}`
  return {
    object: word,
    text: `${word} (${what}) is ${phase}: ${healthy} of ${counted(total, 'machine is', 'machines are')} healthy, ${failed} failed`,
    below: [
      ...(observeUntil === undefined || phase !== 'Observing' ? [] : [{ text: `observing until ${observeUntil}` }]),
      ...waitFindings(waitingFor, { now }, word),
    ],
  }
}

export const canaryRows = ({ status }: ComponentCanary): Rows =>
  (status?.results ?? []).map((r) => [r.machine, r.component, r.state, r.healthySince ?? '', r.message ?? ''])
