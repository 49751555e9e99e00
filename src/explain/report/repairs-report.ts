// The report on repairs: by rule what they were worth, how long each part took, and the faults behind them. Pure.
import { isDone, isNeedless, operationOf, relapseOf, ruleOf } from '#measure/repairs.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { faultSections } from './fault-sections.ts'
import type { ReportFacts } from './facts.ts'
import { counted } from '#lib/counted.ts'
import { byCodeUnit } from '#lib/go-text.ts'
import { repairTimes, type RepairTimes, seenIn } from './repair-times.ts'
import {
  type Cell,
  count,
  duration,
  limited,
  mean,
  named,
  percent,
  percentText,
  type Section,
  share,
  word,
} from './report.ts'

export interface RepairSums {
  readonly all: number
  readonly ended: number
  readonly succeeded: number
  readonly needless: number
  readonly relapsed: number
}

const hasSucceeded = (job: RemedyOperationJob): boolean => isDone(job) && job.status?.outcome === 'Succeeded'

/** Jobs that were requested in the time of the report; the earlier ones explain relapses. */
export const jobsOf = ({ jobs, from, to }: ReportFacts): readonly RemedyOperationJob[] =>
  jobs.filter(({ metadata }) => {
    const at = Date.parse(metadata.creationTimestamp ?? '')
    return at >= from && at < to
  })

export const repairSums = (jobs: readonly RemedyOperationJob[], all: readonly RemedyOperationJob[]): RepairSums => ({
  all: jobs.length,
  ended: jobs.filter(isDone).length,
  succeeded: jobs.filter(hasSucceeded).length,
  needless: jobs.filter(isNeedless).length,
  relapsed: jobs.filter((j) => relapseOf(j, all) !== undefined).length,
})

/** Needless ones had nothing to repair. */
const successShare = ({ ended, needless, succeeded }: RepairSums): number | undefined =>
  share(succeeded, ended - needless)

/** `none`: what is shown while no repair ended that had something to repair. */
export function successCell(sums: RepairSums, none = ''): Cell {
  const value = successShare(sums)
  return value === undefined ? word(none) : percent(value)
}

function rulesSection(facts: ReportFacts): Section {
  const jobs = jobsOf(facts)
  const rules = [...Map.groupBy(jobs, ruleOf)]
    .toSorted(([a], [b]) => byCodeUnit(a, b))
    .map(([rule, own]) => ({ rule, own, sums: repairSums(own, facts.jobs) }))
  const columns = ['rule', 'repairs', 'ended', 'succeeded', 'success', 'needless', 'came back', 'operations']
  const rows = rules.map(({ rule, own, sums }) => {
    const operations = [...new Set(own.map(operationOf))].toSorted().join(', ')
    return [
      named('NodeRemedier', rule),
      count(sums.all),
      count(sums.ended),
      count(sums.succeeded),
      successCell(sums),
      count(sums.needless),
      count(sums.relapsed),
      word(operations),
    ]
  })
  return {
    title: 'Repairs by rule',
    kind: 'RemedyOperationJob',
    about:
      'Success: of those that ended and had something to repair. Needless: the fault ended by itself before the first step. Came back: within a day after a repair by the same rule.',
    columns,
    rows: limited(rows, columns.length),
    chart: {
      form: 'rows',
      title: 'Repairs that succeeded',
      most: 1,
      bars: rules.map(({ rule, sums }) => {
        const value = successShare(sums)
        return { label: rule, value, text: value === undefined ? 'none ended' : percentText(value) }
      }),
    },
  }
}

const PARTS = [
  ['detect', 'detect', 'from the newest fault that the rule reads to the first request of a repair'],
  ['wait', 'wait', 'from the request to the permit'],
  ['decide', 'decide', 'from the permit to the first step'],
  ['act', 'do', 'the steps'],
  ['verify', 'verify', 'from the last step to the proof that the fault ended'],
] as const satisfies readonly (readonly [keyof RepairTimes, string, string])[]

export function timesSection(facts: ReportFacts): Section {
  const seen = seenIn(facts)
  const permits = new Map(facts.permits.map((p) => [p.metadata.name ?? '', p]))
  const times = jobsOf(facts)
    .filter(hasSucceeded)
    .map((job) => repairTimes(job, permits.get(job.status?.permitRef ?? ''), seen))
  const means = PARTS.map(([key]) => times.map((t) => t[key]).filter((s) => s !== undefined))
  return {
    title: 'Mean time of a repair',
    kind: 'RemedyOperationJob',
    about: 'Of repairs that succeeded. A part that no repair tells is unknown.',
    columns: ['part', 'mean', 'repairs', 'what it is'],
    rows: PARTS.map(([, name, what], i): readonly Cell[] => [
      word(name),
      duration(mean(means[i] ?? [])),
      count(means[i]?.length ?? 0),
      word(what),
    ]),
    chart: {
      form: 'rows',
      title: 'Mean time of each part',
      bars: PARTS.map(([, name], i) => {
        const value = mean(means[i] ?? [])
        return { label: name, value, text: duration(value).text }
      }),
    },
  }
}

export const repairsSections = (facts: ReportFacts): readonly Section[] => [
  rulesSection(facts),
  timesSection(facts),
  ...faultSections(facts),
]

export function repairsHeadline(facts: ReportFacts): { readonly text: string; readonly value: number | null } {
  const sums = repairSums(jobsOf(facts), facts.jobs)
  const value = successShare(sums)
  return value === undefined
    ? { text: `no repair ended (${sums.all} requested)`, value: null }
    : {
        text: `${sums.succeeded} of ${counted(sums.ended - sums.needless, 'repair')} succeeded (${percentText(value)}); ${sums.needless} more ${sums.needless === 1 ? 'was' : 'were'} needless`,
        value,
      }
}
