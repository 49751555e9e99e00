// What a recorded phase or condition means to a reader: good, bad, in progress, or over without a result. The one table for bars, lines and samples. Pure.
import type { Phase, PhaseTable } from '#api/phases.ts'
import { isOfLifecycle } from '#api/node-conditions.ts'

/** `Ended`: it is over and was neither a success nor a failure, such as a release that a newer one replaced. */
export type Meaning = 'Good' | 'Bad' | 'Busy' | 'Ended'

/** Tables of kinds that are not recorded are left out. */
type RecordedTable = Exclude<PhaseTable, 'Slot' | 'Order'>
type RecordedPhase = { readonly [T in RecordedTable]: Phase<T> }[RecordedTable]

/** A phase has one meaning in all kinds. A phase that is missing here does not compile. */
const PHASE_MEANINGS: Readonly<Record<RecordedPhase, Meaning>> = {
  Ready: 'Good',
  Healthy: 'Good',
  Passed: 'Good',
  Granted: 'Good',
  Released: 'Good',
  Done: 'Good',
  Succeeded: 'Good',
  Promoted: 'Good',
  Unchanged: 'Good',
  Complete: 'Good',
  NotReady: 'Bad',
  Failed: 'Bad',
  Lost: 'Bad',
  Degraded: 'Bad',
  RolledBack: 'Bad',
  Denied: 'Bad',
  Expired: 'Bad',
  Revoked: 'Bad',
  Escalated: 'Bad',
  Transient: 'Bad',
  Permanent: 'Bad',
  Unreachable: 'Bad',
  Offline: 'Bad',
  Missed: 'Bad',
  Blocked: 'Bad',
  Aborted: 'Ended',
  Lapsed: 'Ended',
  Skipped: 'Ended',
  Unknown: 'Ended',
  Superseded: 'Ended',
  Cancelled: 'Ended',
  Reverted: 'Ended',
  Pending: 'Busy',
  Provisioning: 'Busy',
  Joining: 'Busy',
  Importing: 'Busy',
  Installing: 'Busy',
  Updating: 'Busy',
  Repairing: 'Busy',
  Draining: 'Busy',
  Deleting: 'Busy',
  Fetching: 'Busy',
  Staged: 'Busy',
  Switching: 'Busy',
  Probing: 'Busy',
  Planned: 'Busy',
  AwaitingPermit: 'Busy',
  Inspecting: 'Busy',
  Soaking: 'Busy',
  Requested: 'Busy',
  Waiting: 'Busy',
  Started: 'Busy',
  Running: 'Busy',
  Verifying: 'Busy',
  Rolling: 'Busy',
  Observing: 'Busy',
  Creating: 'Busy',
  Addons: 'Busy',
  Upgrading: 'Busy',
  RollingBack: 'Busy',
  Restoring: 'Busy',
  Progressing: 'Busy',
  Paused: 'Busy',
  Applying: 'Busy',
  Announced: 'Busy',
  Preparing: 'Busy',
  Prepared: 'Busy',
  InProgress: 'Busy',
}

/** A phase of a later version counts as work. */
export const phaseMeaning = (phase: string): Meaning =>
  Object.hasOwn(PHASE_MEANINGS, phase) ? PHASE_MEANINGS[phase as RecordedPhase] : 'Busy'

const GOOD_WHEN_TRUE: ReadonlySet<string> = new Set([
  'Ready',
  'AgentReachable',
  'NodeReady',
  'Joined',
  'ComponentsConsistent',
  'InfrastructureReady',
  'PermitGranted',
  'RuleActive',
  'RolledOut',
  'FaultCleared',
  'Applied',
  'Fetched',
  'Rendered',
  'SourceVerified',
  'Progressing',
])
/** All others report a problem when they are True. */
export const isGoodWhenTrue = (type: string): boolean => GOOD_WHEN_TRUE.has(type)

const NEUTRAL: ReadonlySet<string> = new Set(['Reconciling', 'PermitGranted', 'Cordoned', 'Drained', 'Paused'])
/** It reports progress or planned work, not a problem. */
export const isNeutral = (type: string): boolean => NEUTRAL.has(type) || isOfLifecycle(type)

/** Reasons of our conditions for False or Unknown while an object is being worked on. */
const WORK_REASONS: ReadonlySet<unknown> = new Set([
  'Progressing',
  'WaitingForOther',
  'NotYetObserved',
  'PermitRequested',
  'AsDeclared',
])
/** Not a problem: it is not good yet, or needs to be no longer. */
export const isWork = (reason: unknown): boolean => WORK_REASONS.has(reason)
