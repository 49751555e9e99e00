// Reports the result of a Release: its status, its conditions, and events about its clusters.
import { release as releaseKind, type Release, type ReleaseStatus } from '#api/kinds/release.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { refText } from '#delivery/object-ref.ts'
import type { EventRecorder } from '#kube/events.ts'
import { setConditions, type WantedCondition } from '#kube/conditions.ts'
import { writeStatus, writtenOrThrow } from '#runtime/write-status.ts'
import type { ApplyReport } from '../cluster/apply.ts'
import { pruneText } from '../release/cluster-trouble.ts'
import type { ReleasePlan } from '../release/release-seen.ts'
import type { RenderReason } from './render-reason.ts'
import type { HoldsOver } from './exempt-revert.ts'
import type { HubShared } from './shared.ts'
import { shortened } from '#lib/shortened.ts'

export function recordEvents(
  events: EventRecorder,
  release: Release,
  cluster: string,
  { plan, result, answer }: ApplyReport,
): void {
  const record = (type: 'Normal' | 'Warning', reason: string, note: string) =>
    events.record(release, { type, reason, action: 'Apply', note: shortened(`${cluster}: ${note}`, 1_000) })
  if (result !== undefined && result.applied + result.pruned > 0)
    record('Normal', 'Applied', `${result.applied} applied, ${result.pruned} deleted`)
  if (answer.kind === 'Seen' && answer.failures[0] !== undefined) record('Warning', 'ApplyFailed', answer.failures[0])
  const blocked = plan?.blocked
  if (blocked !== undefined && blocked.isApproved !== true)
    record(
      'Warning',
      'PruneGuard',
      `${pruneText(blocked)}; to allow it: kubenode approve release/${release.metadata.name ?? ''} (digest ${blocked.digest})`,
    )
  const operations = plan?.operations ?? []
  const deferred = operations.filter((o) => o.kind === 'Defer').find((o) => o.reason === 'PruneDeferred')
  if (deferred !== undefined)
    record('Normal', 'StillReferenced', `${refText(deferred.ref)} is kept: ${deferred.detail ?? ''}`)
  const drift = operations.filter((o) => o.kind === 'Report').find((o) => o.reason === 'DriftDetected')
  if (drift !== undefined) record('Warning', 'DriftDetected', `${refText(drift.ref)}: ${drift.detail}`)
}

export type Wanted = Omit<WantedCondition, 'observedGeneration'>

export const stalled = (reason: string, message: string): Wanted => ({
  type: 'Stalled',
  status: 'True',
  reason,
  message,
})

/** A commit that cannot be rendered at the moment waits for its place to run; one that does not render waits for another commit. */
export function notRendered(reason: RenderReason, message: string): readonly Wanted[] {
  if (reason !== 'RenderUnavailable') return [stalled(reason, message)]
  const is = (type: string, status: 'True' | 'False'): Wanted => ({ type, status, reason, message })
  return [is('Ready', 'False'), is('Reconciling', 'True'), is('Stalled', 'False')]
}

/** These waits end only when a user acts. */
const FOR_PEOPLE: ReadonlySet<string> = new Set(['PruneGuard', 'RevertedBefore'])

export interface AroundRelease extends HoldsOver {
  /** The name of the Release that supersedes it. */
  readonly newer: string | undefined
}

export function conditionsOf({ status }: ReleasePlan, { newer, ...holds }: AroundRelease): readonly Wanted[] {
  const { phase, waitingFor } = status
  const is = (type: string, holds: boolean, reason: string, message: string): Wanted => ({
    type,
    status: holds ? 'True' : 'False',
    reason,
    message,
  })
  const waits = waitingFor?.seen ?? waitingFor?.predicate ?? 'the next reconcile'
  const progress =
    phase === 'Succeeded'
      ? 'all stages succeeded'
      : newer !== undefined && waitingFor === undefined
        ? `superseded by ${newer}`
        : // It waits for a person, not for the failure.
          waitingFor?.predicate === 'StageFailed'
          ? waits
          : `waiting for ${waits}`
  const reason =
    newer === undefined
      ? (waitingFor?.predicate ?? (phase === 'Succeeded' ? 'ReleaseComplete' : 'Progressing'))
      : 'NewerRelease'
  const isGate = waitingFor?.predicate === 'GateClosed' || waitingFor?.predicate === 'GateFailed'
  // The user who holds it already knows.
  const isHeld = holds.paused !== undefined && status.stages?.every((s) => s.phase !== 'Failed') === true
  const needsPerson = (phase === 'Paused' && !isHeld) || FOR_PEOPLE.has(waitingFor?.predicate ?? '')
  return [
    is('Ready', phase === 'Succeeded', reason, progress),
    is('Reconciling', phase === 'Progressing', reason, progress),
    is('Stalled', needsPerson, reason, needsPerson ? waits : 'no manual intervention needed'),
    is('Paused', holds.paused !== undefined, ...pausedText(holds)),
    is('GatesPassed', !isGate, isGate ? waitingFor.predicate : 'AsDeclared', isGate ? waits : 'all gates open'),
    is(
      'Superseded',
      newer !== undefined,
      newer === undefined ? 'AsDeclared' : 'NewerRelease',
      newer === undefined ? 'this is the newest release' : `superseded by ${newer}`,
    ),
  ]
}

function pausedText({ paused, passed }: HoldsOver): [reason: string, message: string] {
  if (paused !== undefined) return ['HoldPause', paused]
  if (passed === undefined) return ['AsDeclared', 'no hold']
  return ['ExemptRevert', `this revert is exempt from a hold by its pipeline as it was before: ${passed}`]
}

export async function report(
  { context, releases }: Pick<HubShared, 'context' | 'releases'>,
  release: Release,
  wanted: ReleaseStatus,
  conditions: readonly Wanted[],
  signal: AbortSignal,
): Promise<void> {
  const { generation } = release.metadata
  const full = conditions.map((c) => (generation === undefined ? c : { ...c, observedGeneration: generation }))
  const status = { ...wanted, conditions: setConditions(release.status?.conditions, full, context.clock.now()) }
  // What a Release has started affects the next one, even before the watch delivers it.
  const own = { client: context.client, type: releaseKind, fieldManager: FIELD_MANAGERS.sync, cache: releases }
  writtenOrThrow(await writeStatus({ ...own, object: release, status, signal }))
}
