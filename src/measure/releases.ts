// The four figures of delivery, and what releases waited for. Pure.
import type { Release } from '#api/kinds/release.ts'

const ENDED: ReadonlySet<string> = new Set(['Succeeded', 'Failed', 'Reverted', 'Superseded'])

export const hasEnded = ({ status }: Release): boolean => ENDED.has(status?.phase ?? '')

/** From the commit that sync followed to the end in every stage; undefined unless it succeeded. */
export function leadSeconds({ metadata, status }: Release): number | undefined {
  if (status?.phase !== 'Succeeded') return undefined
  const seconds = (Date.parse(status.finishedAt ?? '') - Date.parse(metadata.creationTimestamp ?? '')) / 1_000
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined
}

/** A change that failed somewhere: it ended so, a stage of it did, or a revert undid it. */
export const isFailed = ({ status }: Release): boolean =>
  status?.phase === 'Failed' ||
  status?.phase === 'Reverted' ||
  status?.revertCommit !== undefined ||
  status?.stages?.some((s) => s.phase === 'Failed') === true

/** From the failure of a release of the track to the next one that succeeded; undefined if none had failed before it. */
export function restoreSeconds(succeeded: Release, others: readonly Release[]): number | undefined {
  const end = Date.parse(succeeded.status?.finishedAt ?? '')
  const ofTrack = others.filter(
    (o) => o.spec.track === succeeded.spec.track && o.spec.source === succeeded.spec.source && o !== succeeded,
  )
  const endOf = (o: Release): number => Date.parse(o.status?.finishedAt ?? '')
  const lastGood = Math.max(
    Number.NEGATIVE_INFINITY,
    ...ofTrack.filter((o) => o.status?.phase === 'Succeeded' && endOf(o) < end).map(endOf),
  )
  const failures = ofTrack
    .filter(isFailed)
    .map(failedAt)
    .filter((at) => at > lastGood && at <= end)
  return failures.length === 0 ? undefined : (end - Math.min(...failures)) / 1_000
}

/** When its first cluster or stage failed, or else when it ended. A stage that failed stays open for a retry, so it has no end. */
function failedAt({ status }: Release): number {
  const known = [
    ...(status?.stages ?? []).flatMap((s) => (s.phase === 'Failed' ? [Date.parse(s.finishedAt ?? '')] : [])),
    ...(status?.clusters ?? []).flatMap((c) => (c.phase === 'Failed' ? [Date.parse(c.since)] : [])),
  ].filter((at) => Number.isFinite(at))
  return known.length > 0 ? Math.min(...known) : Date.parse(status?.finishedAt ?? '')
}

/** What each stage of an open release waits for now. */
export const stageWaits = (release: Release): readonly { readonly stage: string; readonly why: string }[] =>
  hasEnded(release)
    ? []
    : (release.status?.stages ?? []).flatMap(({ name, phase, waitingFor }) =>
        phase !== 'Succeeded' && phase !== 'Skipped' && waitingFor !== undefined
          ? [{ stage: name, why: waitingFor.predicate }]
          : phase === 'Soaking'
            ? [{ stage: name, why: 'SoakTime' }]
            : [],
      )
