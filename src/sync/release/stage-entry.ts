// Decides whether a stage may start clusters now, and why not. Pure.
import type { Reason } from '#api/catalogue.ts'
import type { Release } from '#api/kinds/release.ts'
import { commitText } from '#api/protocol/commit-title.ts'
import { defined } from '#lib/defined.ts'
import { openingOf, windowOpens } from '#permits/windows.ts'
import { revertReleaseOrRetry } from '#runtime/waiting.ts'
import type { SeenCluster } from './cluster-seen.ts'
import { type GateRecord, havePassed } from './gate-machine.ts'
import type { Stage } from './gates.ts'
import { isFinished, isRetried, type ReleaseSeen, type StageStatus } from './release-seen.ts'
import { closedText, failedText, gatesBefore, keptRecords } from './stage-gates.ts'
import { wait, type Blocked } from './waiting.ts'

export interface StageInput {
  readonly stage: Stage
  readonly members: readonly SeenCluster[]
  readonly seen: ReleaseSeen
  readonly now: number
  /** All previous stages are done. */
  readonly isOpen: boolean
}

const hasStarted = ({ status }: Release): boolean => status?.stages?.some((s) => s.startedAt !== undefined) === true

export interface Entry {
  /** Why the stage may not start any cluster; undefined when it is open. */
  readonly blocked: Blocked | undefined
  /** A gate before the stage did not pass in time. */
  readonly isFailed: boolean
  /** Records of the gates before the stage. */
  readonly records: readonly GateRecord[]
}

export function entryOf(input: StageInput, old: StageStatus | undefined): Entry {
  const { stage, members, seen, now, isOpen } = input
  const why = (predicate: Reason, seenValue: string, unblock: string) =>
    wait(old?.waitingFor, now, predicate, seenValue, unblock)
  const closed = (blocked: Blocked, records: readonly GateRecord[], isFailed = false) => ({
    blocked,
    isFailed,
    records,
  })
  const kept = isRetried(seen) ? [] : keptRecords(old, 'Before')
  if (isFinished(old)) return { blocked: undefined, isFailed: false, records: [] }
  if (!isOpen) return closed(why('StageWaiting', 'an earlier stage has not finished', 'the earlier stage succeeds'), [])
  const moment = { stage, old, sight: seen.sight, now, isRetried: isRetried(seen) }
  const held = seen.paused === undefined ? undefined : why('HoldPause', seen.paused, 'the hold ends or is deleted')
  // A gate's time does not run while a hold pauses the release.
  if (held !== undefined && !havePassed(stage.before ?? [], 'Before', old?.gates ?? []))
    return closed(held, kept, kept.length > 0)
  const again = seen.revertedBefore
  if (again !== undefined && seen.retries.length === 0 && !hasStarted(seen.release)) {
    const text = `commit ${commitText(again.commit, again.title)} with the same objects failed and was reverted by ${again.revertedBy}`
    const retry = `kubenode release retry ${seen.release.metadata.name ?? ''} --reason WHY`
    const { commit, revert } = seen.release.spec
    const unblock = revertReleaseOrRetry({ commit, ...defined({ revert, after: seen.reached }) }, retry)
    return closed(why('RevertedBefore', text, unblock), kept, kept.length > 0)
  }
  const { state, records, closed: first } = gatesBefore(moment, members)
  const name = seen.release.metadata.name ?? ''
  if (first !== undefined && state === 'Failed') {
    const text = failedText(first, name)
    return closed(why('GateFailed', text.seen, text.unblock), records, true)
  }
  if (held !== undefined) return closed(held, records)
  if (first !== undefined) {
    const text = closedText(first, seen.release)
    return closed(why('GateClosed', text.seen, text.unblock), records)
  }
  const opening = openingOf(stage.windows, now)
  if (opening.problem !== undefined)
    return closed(why('WaitingForWindow', opening.problem, 'the windows of the stage are corrected'), records)
  if (!opening.isOpen)
    return closed(
      why('WaitingForWindow', `no maintenance window of stage ${stage.name} is open`, windowOpens(opening)),
      records,
    )
  return { blocked: undefined, isFailed: false, records }
}
