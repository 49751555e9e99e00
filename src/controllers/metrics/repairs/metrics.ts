// Metrics of repairs, counted as they end: outcomes, needless repairs, relapses, and waits.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { Clock } from '#lib/clock.ts'
import { isDone, isNeedless, operationOf, relapseOf, ruleOf, waitOf } from '#measure/repairs.ts'
import { type LabelledSeconds, TimeInState } from '#measure/time-in-state.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { termFiguresIn } from '#runtime/figures.ts'
import { boundedLabel, type RuntimeMetrics } from '#runtime/metrics.ts'

/** From the best promised time to one that should page an operator; 60, 300 and 600 are the objectives for detecting, deciding and healing. */
const REPAIR_BUCKETS_S = [0.05, 0.1, 0.5, 1, 5, 15, 30, 60, 180, 300, 600, 1_800, 7_200]
/** Five reasons to wait, and none. */
const MOST_WAITS = 8

export interface RepairCaches {
  readonly jobs: SharedInformer<RemedyOperationJob>
  readonly permits: SharedInformer<OperationPermit>
}

export function repairMetrics(
  { registry }: Pick<RuntimeMetrics, 'registry'>,
  { jobs, permits }: RepairCaches,
  clock: Pick<Clock, 'monotonic'>,
): Part {
  const waits = new TimeInState(MOST_WAITS)
  const label = boundedLabel()
  let stops: readonly (() => void)[] = []
  return {
    name: 'state-repairs',
    start: () => {
      const of = metersIn(registry, () => waits.totals(clock.monotonic()))
      const follow = (job: RemedyOperationJob): void => {
        const uid = job.metadata.uid ?? ''
        const permit = job.status?.permitRef === undefined ? undefined : permits.get(job.status.permitRef)
        const why = isDone(job) ? undefined : waitOf(job, permit)
        if (why === undefined) waits.leave(uid, clock.monotonic())
        else waits.enter(uid, { why }, clock.monotonic())
      }
      stops = [
        permits.onChange((_old, now) => {
          if (now?.spec.requester.kind !== 'RemedyOperationJob') return
          const job = jobs.get(now.spec.requester.name ?? '')
          if (job !== undefined) follow(job)
        }),
        jobs.onChange((old, now) => {
          if (now === undefined) return waits.leave(old?.metadata.uid ?? '', clock.monotonic())
          follow(now)
          // The first list reports old jobs as created: their earlier state is unknown, so they are not counted.
          if (old === undefined) {
            if (jobs.isSynced && relapseOf(now, jobs.list()) !== undefined)
              of.relapses.inc({ rule: label(ruleOf(now)) })
            return
          }
          observeTimes(of, label, old, now)
          if (isDone(old) || !isDone(now)) return
          const rule = label(ruleOf(now))
          of.outcomes.inc({ rule, operation: operationOf(now), outcome: now.status?.outcome ?? 'Unknown' })
          if (isNeedless(now)) of.needless.inc({ rule })
        }),
      ]
    },
    stop: () => {
      for (const stop of stops) stop()
    },
  }
}

type Meters = ReturnType<typeof metersIn>

function observeTimes(
  { decide, heal }: Meters,
  label: (rule: string) => string,
  old: RemedyOperationJob,
  now: RemedyOperationJob,
): void {
  const began = Date.parse(now.metadata.creationTimestamp ?? '')
  const rule = label(ruleOf(now))
  const seconds = (at: string | undefined) => Math.max(0, (Date.parse(at ?? '') - began) / 1_000)
  if (old.status?.startedAt === undefined && now.status?.startedAt !== undefined)
    decide.observe({ rule }, seconds(now.status.startedAt))
  if (!isDone(old) && isDone(now) && now.status?.outcome === 'Succeeded')
    heal.observe({ rule }, seconds(now.status.finishedAt))
}

function metersIn(registry: RuntimeMetrics['registry'], waited: () => readonly LabelledSeconds[]) {
  const { counter, histogram, sums } = termFiguresIn(registry)
  sums(
    'kubenode_repair_wait_seconds_total',
    'Time that open repairs waited, by what for: permit, window, approval, hold, drain.',
    ['why'],
    () => waited().map(({ labels, seconds }) => ({ labels: { why: labels['why'] ?? '' }, value: seconds })),
  )
  return {
    decide: histogram(
      'kubenode_repair_decide_seconds',
      'Time from the request of a repair to its first step, including the permit and everything that delays it.',
      REPAIR_BUCKETS_S,
      'rule',
    ),
    heal: histogram(
      'kubenode_repair_heal_seconds',
      'Time from the request of a repair to its verified end.',
      REPAIR_BUCKETS_S,
      'rule',
    ),
    outcomes: counter(
      'kubenode_repair_outcomes_total',
      'Ended repairs by rule, operation and outcome.',
      'rule',
      'operation',
      'outcome',
    ),
    needless: counter(
      'kubenode_repair_needless_total',
      'Repairs whose fault ended by itself before their first step, by rule.',
      'rule',
    ),
    relapses: counter(
      'kubenode_repair_relapses_total',
      'Repairs of a fault that came back within a day after a repair by the same rule succeeded.',
      'rule',
    ),
  }
}
