// Delivery metrics, counted as Releases end: how many, time from commit to completion, failures, time to recover; and what stages wait for.
import type { Release } from '#api/kinds/release.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import type { Clock } from '#lib/clock.ts'
import { hasEnded, isFailed, leadSeconds, restoreSeconds, stageWaits } from '#measure/releases.ts'
import { type LabelledSeconds, TimeInState } from '#measure/time-in-state.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { termFiguresIn } from '#runtime/figures.ts'
import { boundedLabel, type RuntimeMetrics } from '#runtime/metrics.ts'

/** From a change of one small cluster to one that soaks for days in each stage. */
const LEAD_BUCKETS_S = [60, 300, 600, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400, 172_800, 604_800]
/** Some thirty predicates in a few stages. */
const MOST_WAITS = 200

export function releaseMetrics(
  { registry }: Pick<RuntimeMetrics, 'registry'>,
  releases: SharedInformer<Release>,
  clock: Pick<Clock, 'monotonic'>,
): Part {
  const waits = new TimeInState(MOST_WAITS)
  const label = boundedLabel()
  const waiting = new Map<string, ReadonlySet<string>>()
  let stop = (): void => undefined

  const follow = (key: string, release: Release | undefined): void => {
    const now = clock.monotonic()
    const open = new Map(
      (release === undefined ? [] : stageWaits(release)).map(({ stage, why }) => [
        `${key} ${stage}`,
        { stage: label(stage), why },
      ]),
    )
    for (const [id, labels] of open) waits.enter(id, labels, now)
    for (const id of waiting.get(key) ?? []) if (!open.has(id)) waits.leave(id, now)
    if (open.size === 0) waiting.delete(key)
    else waiting.set(key, new Set(open.keys()))
  }

  return {
    name: 'release-figures',
    start: () => {
      const of = metersIn(registry, () => waits.totals(clock.monotonic()))
      stop = releases.onChange((old, now) => {
        const object = now ?? old
        if (object === undefined) return
        follow(namespacedName(object), now)
        // The first list reports old Releases as created; those ended before this process became the leader.
        if (old === undefined || now === undefined || hasEnded(old) || !hasEnded(now)) return
        const track = label(now.spec.track)
        of.ended.inc({ track, outcome: now.status?.phase ?? 'Unknown', failed: String(isFailed(now)) })
        if (now.spec.revertOf !== undefined && now.status?.phase === 'Succeeded') of.rollbacks.inc({ track })
        const lead = leadSeconds(now)
        if (lead === undefined) return
        of.lead.observe({ track }, lead)
        const restored = restoreSeconds(now, releases.list())
        if (restored !== undefined) of.restore.observe({ track }, restored)
      })
    },
    stop: () => stop(),
  }
}

function metersIn(registry: RuntimeMetrics['registry'], waited: () => readonly LabelledSeconds[]) {
  const { counter, histogram, sums } = termFiguresIn(registry)
  sums(
    'kubenode_release_stage_wait_seconds_total',
    'Time that stages of open releases waited, by what for.',
    ['stage', 'why'],
    () => waited().map(({ labels, seconds }) => ({ labels, value: seconds })),
  )
  return {
    lead: histogram(
      'kubenode_release_lead_seconds',
      'Time from the commit that sync followed to its end in every stage.',
      LEAD_BUCKETS_S,
      'track',
    ),
    restore: histogram(
      'kubenode_release_restore_seconds',
      'Time from the failure of a release to the next one of its track that succeeded.',
      LEAD_BUCKETS_S,
      'track',
    ),
    ended: counter(
      'kubenode_releases_ended_total',
      'Ended releases by outcome, and whether the change failed anywhere.',
      'track',
      'outcome',
      'failed',
    ),
    rollbacks: counter('kubenode_release_rollbacks_total', 'Reverts that reached every stage.', 'track'),
  }
}
