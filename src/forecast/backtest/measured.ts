// What the history itself tells about repairs: how long operations take, and how often they end a fault. Bounded: the newest measurements of each kind.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { type Operation, operationName } from '#api/protocol/operations.ts'
import { parseDuration } from '#lib/duration.ts'

const operationsKey = (operations: readonly Operation[]): string =>
  operations.map((o) => operationName(o) ?? 'unknown').join(', ')

/** For operations that never ran in the history. */
const TYPICAL_MS: Readonly<Record<string, number>> = {
  collectEvidence: 10_000,
  restartComponent: 20_000,
  reinstallComponent: 60_000,
  cleanDisk: 60_000,
  runScript: 60_000,
  runPod: 60_000,
  cordon: 1_000,
  isolateDevice: 1_000,
  uncordon: 1_000,
  drain: 180_000,
  rescue: 30_000,
  rescueReboot: 240_000,
  reboot: 240_000,
  fence: 60_000,
  replace: 900_000,
  webhook: 5_000,
  reportFault: 5_000,
}
const MOST_SAMPLES = 100
/** Fewer outcomes are chance. */
export const FEWEST_OUTCOMES = 3

/** Repairs of which the history shows too few. */
export interface Unmeasured {
  readonly operations: string
  readonly outcomes: number
}

interface Outcomes {
  helped: number
  all: number
}

export class Measured {
  readonly #durations = new Map<string, number[]>()
  readonly #medians = new Map<string, number>()
  readonly #outcomes = new Map<string, Outcomes>()

  /** A recorded repair that ended. */
  note(job: RemedyOperationJob, family: string): void {
    const { startedAt, finishedAt, outcome } = job.status ?? {}
    const ms = Date.parse(finishedAt ?? '') - Date.parse(startedAt ?? '')
    const key = operationsKey(job.spec.operations)
    if (ms >= 0) {
      const samples = this.#durations.get(key) ?? []
      this.#durations.set(key, samples)
      samples.push(ms)
      if (samples.length > MOST_SAMPLES) samples.shift()
      this.#medians.set(key, samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? 0)
    }
    if (startedAt === undefined || (outcome !== 'Succeeded' && outcome !== 'Escalated')) return
    const of = this.#outcomes.get(`${family}\n${key}`) ?? { helped: 0, all: 0 }
    this.#outcomes.set(`${family}\n${key}`, of)
    of.all++
    if (outcome === 'Succeeded') of.helped++
  }

  durationMs({ spec }: RemedyOperationJob): number {
    const typical = spec.operations.reduce((sum, o) => sum + (TYPICAL_MS[operationName(o) ?? ''] ?? 0), 0)
    return Math.min(this.#medians.get(operationsKey(spec.operations)) ?? typical, parseDuration(spec.timeout))
  }

  /** The share of such repairs that ended such a fault; undefined if too few are known. */
  chance(job: RemedyOperationJob, family: string): number | undefined {
    const of = this.#outcomes.get(`${family}\n${operationsKey(job.spec.operations)}`)
    return of === undefined || of.all < FEWEST_OUTCOMES ? undefined : of.helped / of.all
  }

  /** How many outcomes of such repairs of such a fault are known, if too few to tell a chance. */
  tooFew(job: RemedyOperationJob, family: string): Unmeasured | undefined {
    const operations = operationsKey(job.spec.operations)
    const outcomes = this.#outcomes.get(`${family}\n${operations}`)?.all ?? 0
    return outcomes < FEWEST_OUTCOMES ? { operations, outcomes } : undefined
  }

  get outcomes(): number {
    return [...this.#outcomes.values()].reduce((sum, o) => sum + o.all, 0)
  }
}
