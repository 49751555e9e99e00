// The closed loop of one side: replays in which a repair ends a fault as often as such repairs did in the history, once for each seed.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { ruleOf } from '#controllers/remedy/repairs/history.ts'
import { luckOf } from '#lib/luck.ts'
import type { Measured } from './measured.ts'
import type { ClosedSums, Spread } from './result.ts'
import type { RuleSet } from './rule-set.ts'
import { RepairRun, type Surroundings } from './run.ts'
import { addDisruptive } from './sums.ts'
import type { SideVerdicts } from './verdicts.ts'

export interface ClosedOptions {
  readonly rules: RuleSet
  readonly measured: Measured
  readonly familyOf: (rule: string) => string
  readonly seeds: number
}

interface Seed {
  readonly run: RepairRun
  jobs: number
  reboots: number
  drains: number
  replacements: number
  faultMs: number
  steppedAt: number
  version: number
}

export class ClosedSide {
  readonly #seeds: readonly Seed[]

  constructor({ rules, measured, familyOf, seeds }: ClosedOptions) {
    this.#seeds = Array.from({ length: seeds }, (_, n) => {
      const helps = (job: RemedyOperationJob): boolean | undefined => {
        const chance = measured.chance(job, familyOf(ruleOf(job)))
        // The same job meets the same luck on both sides.
        return chance === undefined ? undefined : luckOf(n, job.metadata.name ?? '') < chance
      }
      const seed: Seed = {
        jobs: 0,
        reboots: 0,
        drains: 0,
        replacements: 0,
        faultMs: 0,
        steppedAt: 0,
        version: -1,
        run: new RepairRun({
          rules,
          durationMs: (job) => measured.durationMs(job),
          helps,
          onCreated: ({ job }) => {
            if (job.spec.dryRun) return
            seed.jobs++
            addDisruptive(seed, job)
          },
        }),
      }
      return seed
    })
  }

  get wakeAt(): number {
    return Math.min(...this.#seeds.map((s) => s.run.wakeAt))
  }

  adopt(job: RemedyOperationJob, now: number): void {
    for (const { run } of this.#seeds) run.adopt(job, now)
  }

  /** Only jobs from before the replay continue as recorded. */
  recorded(name: string, job: RemedyOperationJob | undefined, now: number): void {
    for (const { run } of this.#seeds) run.recorded(name, job, now)
  }

  step(now: number, verdicts: () => SideVerdicts, version: number, around: Surroundings): void {
    for (const seed of this.#seeds) {
      for (
        let turn = 0;
        turn < MOST_TURNS && (seed.run.isDue || version !== seed.version || seed.run.wakeAt <= now);
        turn++
      ) {
        this.#pass(seed, now)
        seed.version = version
        seed.run.step(now, verdicts(), around)
      }
    }
  }

  wake(): void {
    for (const { run } of this.#seeds) run.wake()
  }

  result(end: number): ClosedSums {
    for (const seed of this.#seeds) this.#pass(seed, end)
    const spread = (of: (seed: Seed) => number): Spread => spreadOf(this.#seeds.map(of))
    return {
      jobs: spread((s) => s.jobs),
      reboots: spread((s) => s.reboots),
      drains: spread((s) => s.drains),
      faultMinutes: spread((s) => Math.round(s.faultMs / 60_000)),
    }
  }

  #pass(seed: Seed, now: number): void {
    if (seed.steppedAt > 0) seed.faultMs += seed.run.faulty * (now - seed.steppedAt)
    seed.steppedAt = now
  }
}

const MOST_TURNS = 5

function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  return { median: at(0.5), p95: at(0.95) }
}
