// The story of a repair for a later reader: its cause, its steps and their results. Pure.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { Release } from '#api/kinds/release.ts'
import { titledCommit } from '#api/protocol/commit-title.ts'
import { formatDuration } from '#lib/duration.ts'
import { notesOf, type Finding } from './finding.ts'

const DAY_MS = 86_400_000
/** The newest ones; the full list is available separately. */
const MOST_REPAIRS = 5

type Step = NonNullable<NonNullable<RemedyOperationJob['status']>['steps']>[number]

const between = (from: string | undefined, to: string | undefined): number | undefined => {
  const ms = Date.parse(to ?? '') - Date.parse(from ?? '')
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
const ago = (stamp: string | undefined, now: number): string => {
  const at = Date.parse(stamp ?? '')
  return Number.isNaN(at) ? '' : ` ${formatDuration(Math.max(0, now - at))} ago`
}

/** One line: which rule, how far, and the result. */
export function repairSummary({ spec, status }: RemedyOperationJob, now: number): string {
  const { remedierRef, rung, attempt, skipped = [] } = spec
  const passed = skipped.length === 0 ? '' : ` (skipped ${skipped.join('; ')})`
  const head = `rule ${remedierRef.name}, rung ${rung}${attempt > 1 ? `, attempt ${attempt}` : ''}${passed}`
  if (status?.phase !== 'Done') return `${head}: ${status?.phase ?? 'Pending'}`
  return `${head}: ${status.outcome ?? 'Done'}${ago(status.finishedAt, now)}: ${status.message ?? ''}`
}

/** The whole repair, step by step. */
export function repairStory(
  job: RemedyOperationJob,
  { now, releases = [] }: { readonly now: number; readonly releases?: readonly Release[] },
): readonly Finding[] {
  const { spec, status } = job
  const commit = spec.commit === undefined ? '' : `, commit ${titledCommit(spec.commit, releases)}`
  const took = between(status?.startedAt, status?.finishedAt)
  const lines = [
    `requested${ago(job.metadata.creationTimestamp, now)}${commit}${status?.permitRef === undefined ? '' : `; permit/${status.permitRef}`}`,
    ...spec.operations.map((operation, index) => {
      const step = status?.steps?.find((s) => s.index === index)
      return `step ${index} ${Object.keys(operation)[0] ?? ''}${stepText(step)}${step?.scope === undefined ? '' : `; ${step.scope}`}`
    }),
    ...(took === undefined ? [] : [`took ${formatDuration(took)} from first step to end`]),
    ...(status?.evidence ?? []).map((e) => `evidence ${e.kind}: ${e.place}`),
  ]
  return [{ text: `Repairs node/${spec.node.name} by ${repairSummary(job, now)}`, below: notesOf(lines) }]
}

function stepText(step: Step | undefined): string {
  if (step === undefined) return ': not started'
  const took = between(step.startedAt, step.finishedAt)
  const last = (step.output ?? '').trim().split('\n').at(-1) ?? ''
  // Times have whole seconds: a step with 0 took less than one.
  const time = took === undefined || took === 0 ? '' : ` in ${formatDuration(took)}`
  return ` by ${step.executor}: ${step.outcome ?? 'running'}${time}${last === '' ? '' : `: ${last}`}`
}

/** Finished repairs of the last day, newest first. */
export function recentRepairs(jobs: readonly RemedyOperationJob[], now: number): readonly RemedyOperationJob[] {
  const endOf = (j: RemedyOperationJob): number => Date.parse(j.status?.finishedAt ?? '')
  return jobs
    .filter((j) => j.status?.phase === 'Done' && now - endOf(j) < DAY_MS)
    .toSorted((a, b) => endOf(b) - endOf(a))
    .slice(0, MOST_REPAIRS)
}
