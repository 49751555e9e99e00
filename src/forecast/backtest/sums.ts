// Adds up what one side did: jobs by rule, needless and missed ones, how many repairs ran at once in each place, and what made them wait.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { disruptionsOf } from '#controllers/remedyjob/steps/operations.ts'
import { takesAvailability } from '#api/protocol/operations.ts'
import { ruleOf } from '#controllers/remedy/repairs/history.ts'
import type { ReplayedJob } from './replayed-job.ts'

export interface RuleSums {
  jobs: number
  reboots: number
  drains: number
  replacements: number
  /** Jobs of which the history shows whether they were needed. */
  judged: number
  needless: number
  /** Jobs on nodes that a real repair or a person was changing. */
  censored: number
  relapses: number
  nodeMinutes: number
}

export const noSums = (): RuleSums => ({
  jobs: 0,
  reboots: 0,
  drains: 0,
  replacements: 0,
  judged: 0,
  needless: 0,
  censored: 0,
  relapses: 0,
  nodeMinutes: 0,
})

export interface Peak {
  readonly place: string
  /** Machines out of service for repairs at once. */
  readonly machines: number
  /** Of all machines there. */
  readonly of: number
  readonly share: number
  readonly at: number
}

export interface Bound {
  readonly what: string
  readonly ms: number
  readonly times: number
}

export type PlaceKind = 'zone' | 'rack'

/** Counts the machines of each zone and rack, and the most that were out at once. */
class Peaks {
  readonly #out: Readonly<Record<PlaceKind, Map<string, number>>> = { zone: new Map(), rack: new Map() }
  readonly #most: Partial<Record<PlaceKind, Peak>> = {}
  readonly #busiest: Partial<Record<PlaceKind, Peak>> = {}

  change(kind: PlaceKind, place: string, by: 1 | -1, of: number, at: number): void {
    const machines = Math.max(0, (this.#out[kind].get(place) ?? 0) + by)
    if (machines === 0) this.#out[kind].delete(place)
    else this.#out[kind].set(place, machines)
    const peak = { place, machines, of, share: of === 0 ? 0 : Math.min(1, machines / of), at }
    if (by < 0) return
    // A single machine out is a repair, not a peak: a rack of two would always have the highest share.
    if (machines > 1 && peak.share > (this.#most[kind]?.share ?? 0)) this.#most[kind] = peak
    if (machines > (this.#busiest[kind]?.machines ?? 0)) this.#busiest[kind] = peak
  }

  /** The highest share of a place with more than one machine out; otherwise one machine. */
  of(kind: PlaceKind): Peak | undefined {
    return this.#most[kind] ?? this.#busiest[kind]
  }
}

/** How long each limit made repairs wait. */
class BoundTimes {
  readonly #sums = new Map<string, { ms: number; times: number }>()
  readonly #since = new Map<string, number>()

  now(bound: ReadonlySet<string>, at: number): void {
    for (const [what, since] of this.#since) {
      if (bound.has(what)) continue
      this.#add(what, at - since)
      this.#since.delete(what)
    }
    for (const what of bound) if (!this.#since.has(what)) this.#since.set(what, at)
  }

  result(end: number): readonly Bound[] {
    this.now(new Set(), end)
    return [...this.#sums].map(([what, sum]) => ({ what, ...sum })).toSorted((a, b) => b.ms - a.ms)
  }

  #add(what: string, ms: number): void {
    const sum = this.#sums.get(what) ?? { ms: 0, times: 0 }
    this.#sums.set(what, { ms: sum.ms + ms, times: sum.times + 1 })
  }
}

/** How the ladder calls a fault that came back after a repair. */
const RETURNED = 'fault returned'

/** Adds the job under what it does to its node: a reboot counts as one whether the agent, the provider or a rescue does it. */
export function addDisruptive(
  sums: Pick<RuleSums, 'reboots' | 'drains' | 'replacements'>,
  job: RemedyOperationJob,
): void {
  const disruptions = disruptionsOf(job)
  if (disruptions.includes('Reboot')) sums.reboots++
  if (disruptions.includes('Drain')) sums.drains++
  if (disruptions.includes('Replace')) sums.replacements++
}

export class SideSums {
  readonly rules = new Map<string, RuleSums>()
  readonly peaks = new Peaks()
  readonly bound = new BoundTimes()
  readonly permitBound = new BoundTimes()
  missed = 0

  of(rule: string): RuleSums {
    const known = this.rules.get(rule) ?? noSums()
    this.rules.set(rule, known)
    return known
  }

  created(replayed: ReplayedJob, why: string): void {
    if (replayed.job.spec.dryRun) return
    const sums = this.of(ruleOf(replayed.job))
    sums.jobs++
    addDisruptive(sums, replayed.job)
    if (why.startsWith(RETURNED)) sums.relapses++
  }

  finished({ job, startedAt, finishedAt }: ReplayedJob): void {
    if (job.spec.dryRun || startedAt === undefined || finishedAt === undefined) return
    this.of(ruleOf(job)).nodeMinutes += (finishedAt - startedAt) / 60_000
  }

  total(): RuleSums {
    const total = noSums()
    for (const sums of this.rules.values())
      for (const key of Object.keys(total) as (keyof RuleSums)[]) total[key] += sums[key]
    return total
  }
}

/** Whether the machine may stop serving for it. */
export const takesOut = ({ job }: ReplayedJob): boolean => !job.spec.dryRun && takesAvailability(disruptionsOf(job))
