// Judges each recorded repair: whether its fault ended by itself in the time that the repair takes. A repair that began to work, or a person on the node, makes the
// answer unknown, because the fault may have ended through it.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { operationName } from '#api/protocol/operations.ts'
import { ruleOf } from '#controllers/remedy/repairs/history.ts'
import type { Example } from '../backtest/result.ts'
import { MOST_EXAMPLES } from '../backtest/result.ts'

export interface RepairSums {
  repairs: number
  dryRuns: number
  /** Repairs that ran to an outcome, by that outcome. */
  readonly outcomes: Record<string, number>
  /** Repairs that began, and ended with a verdict about the fault: it ended, or it did not. */
  tried: number
  helped: number
  needless: number
  /** The fault lasted longer than the repair takes. */
  needed: number
  unknown: number
  /** Repairs within the relapse window of one that succeeded on the same node. */
  relapses: number
  readonly examples: Example[]
}

const noRepairs = (): RepairSums => ({
  repairs: 0,
  dryRuns: 0,
  outcomes: {},
  tried: 0,
  helped: 0,
  needless: 0,
  needed: 0,
  unknown: 0,
  relapses: 0,
  examples: [],
})

/** Of the fault of a repair, now. Unknown: the node was deleted or is silent, or nothing was recorded of it. */
export type FaultState = 'Present' | 'Over' | 'Unknown'

interface Watched {
  readonly rule: string
  readonly node: string
  readonly uid: string
  readonly at: number
  /** When the operations would be done. */
  readonly until: number
  /** When its fault was first over. */
  clearedAt: number | undefined
  /** Steps are observed later than they begin, so that a verdict waits for the end of the job. */
  isOpen: boolean
}

export interface RepairsOptions {
  readonly durationMs: (job: RemedyOperationJob) => number
  readonly relapseWindowMs: (rule: string) => number
  /** Whether part of the time was not recorded. */
  readonly hasGap: (from: number, to: number) => boolean
}

/** They neither end a fault nor prevent its end. */
const HARMLESS: ReadonlySet<string> = new Set(['collectEvidence', 'cordon', 'isolateDevice', 'reportFault'])
const TRIED: ReadonlySet<string> = new Set(['Succeeded', 'Escalated', 'Permanent'])
const MOST_REMEMBERED = 50_000

export class RepairsSeen {
  readonly sums = new Map<string, RepairSums>()
  readonly #watched = new Map<string, Watched>()
  /** Node and rule → when its last successful repair ended. */
  readonly #succeeded = new Map<string, number>()
  readonly #options: RepairsOptions

  constructor(options: RepairsOptions) {
    this.#options = options
  }

  of(rule: string): RepairSums {
    const known = this.sums.get(rule) ?? noRepairs()
    this.sums.set(rule, known)
    return known
  }

  /** `isUnknown`: someone else was changing the node already, or the repair began where nothing was recorded. */
  created(job: RemedyOperationJob, now: number, isUnknown: boolean): void {
    const rule = ruleOf(job)
    const { uid, name } = job.spec.node
    const sums = this.of(rule)
    if (job.spec.dryRun) sums.dryRuns++
    else sums.repairs++
    const before = this.#succeeded.get(`${uid} ${rule}`)
    if (!job.spec.dryRun && before !== undefined && now - before <= this.#options.relapseWindowMs(rule)) sums.relapses++
    if (isUnknown) sums.unknown++
    else
      this.#watched.set(job.metadata.name ?? '', {
        rule,
        node: name,
        uid,
        at: now,
        until: now + this.#options.durationMs(job),
        clearedAt: undefined,
        isOpen: !job.spec.dryRun,
      })
  }

  changed(before: RemedyOperationJob | undefined, job: RemedyOperationJob, now: number): void {
    if (job.spec.dryRun) return
    const actedAt = firstAct(job)
    if (actedAt !== undefined && (before === undefined || firstAct(before) === undefined))
      this.acted(job.spec.node.uid, Math.min(actedAt, now))
    if (job.status?.phase !== 'Done' || before?.status?.phase === 'Done') return
    this.#done(job.metadata.name ?? '')
    const sums = this.of(ruleOf(job))
    const outcome = job.status.outcome ?? 'Unknown'
    sums.outcomes[outcome] = (sums.outcomes[outcome] ?? 0) + 1
    if (job.status.startedAt === undefined || !TRIED.has(outcome)) return
    sums.tried++
    if (outcome !== 'Succeeded') return
    sums.helped++
    this.#remember(`${job.spec.node.uid} ${ruleOf(job)}`, now)
  }

  deleted(name: string): void {
    this.#done(name)
  }

  /** A repair or a person changed the node from then on. */
  acted(uid: string, at: number): void {
    for (const [name, one] of this.#watched)
      if (one.uid === uid && (one.clearedAt === undefined || at <= one.clearedAt))
        this.#settle(name, one, at, 'unknown')
  }

  get isWatching(): boolean {
    return this.#watched.size > 0
  }

  step(now: number, faultOf: (one: Pick<Watched, 'rule' | 'node' | 'uid'>) => FaultState): void {
    for (const [name, one] of this.#watched) {
      if (one.clearedAt !== undefined) continue
      const state = faultOf(one)
      if (state === 'Unknown') this.#give(name, one)
      else if (state === 'Over') {
        one.clearedAt = now
        if (!one.isOpen) this.#settle(name, one, now, 'needless')
      } else if (now > one.until) this.#settle(name, one, now, 'unknown')
    }
  }

  end(now: number): void {
    for (const [name, one] of this.#watched)
      if (one.clearedAt === undefined) this.#settle(name, one, now, 'unknown')
      else this.#settle(name, one, one.clearedAt, 'needless')
  }

  #done(name: string): void {
    const one = this.#watched.get(name)
    if (one === undefined) return
    one.isOpen = false
    if (one.clearedAt !== undefined) this.#settle(name, one, one.clearedAt, 'needless')
  }

  #give(name: string, one: Watched): void {
    this.#watched.delete(name)
    this.of(one.rule).unknown++
  }

  /** `early`: the answer if the time that the repair takes is not over yet. After it, the fault lasted longer. */
  #settle(name: string, one: Watched, now: number, early: 'needless' | 'unknown'): void {
    this.#watched.delete(name)
    const sums = this.of(one.rule)
    if (this.#options.hasGap(one.at, Math.min(now, one.until))) sums.unknown++
    else if (now > one.until) sums.needed++
    else if (early === 'unknown') sums.unknown++
    else {
      sums.needless++
      if (sums.examples.length < MOST_EXAMPLES) sums.examples.push({ node: one.node, rule: one.rule, at: one.at })
    }
  }

  #remember(key: string, now: number): void {
    this.#succeeded.delete(key)
    this.#succeeded.set(key, now)
    if (this.#succeeded.size > MOST_REMEMBERED) this.#succeeded.delete(this.#succeeded.keys().next().value ?? '')
  }
}

/** When a step began that can end the fault. A job without recorded steps counts from its start. */
function firstAct({ spec, status }: RemedyOperationJob): number | undefined {
  const { steps = [], startedAt } = status ?? {}
  if (startedAt === undefined) return undefined
  if (steps.length === 0)
    return spec.operations.some((o) => !HARMLESS.has(operationName(o) ?? '')) ? Date.parse(startedAt) : undefined
  const begun = steps.flatMap((s) =>
    s.startedAt === undefined || HARMLESS.has(s.operation) ? [] : [Date.parse(s.startedAt)],
  )
  return begun.length === 0 ? undefined : Math.min(...begun)
}
