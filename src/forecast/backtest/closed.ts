// The closed loop of one side: replays in which a repair ends a fault as often as such repairs did in the history, once for each seed.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { NodeSeen } from '#controllers/remedy/seen.ts'
import { ruleOf } from '#controllers/remedy/repairs/history.ts'
import { luckOf } from '#lib/luck.ts'
import type { Measured, Unmeasured } from './measured.ts'
import type { ClosedSums, Spread } from './result.ts'
import type { RuleSet } from './rule-set.ts'
import { RepairRun, type Surroundings } from './run.ts'
import { addDisruptive } from './sums.ts'
import type { SideVerdicts } from './verdicts.ts'

export interface ClosedOptions {
  readonly rules: RuleSet
  readonly measured: Measured
  readonly familyOf: (rule: string) => string
  readonly isSameFault: (a: string, b: string) => boolean
  readonly seeds: number
}

/** Of either side. */
export interface FaultsNow {
  readonly version: number
  readonly nodes: () => readonly NodeSeen[]
}

interface Seed {
  readonly run: RepairRun
  jobs: number
  reboots: number
  drains: number
  replacements: number
  faultMs: number
  faulty: number
  countedAt: number
  version: number
  faultsVersion: number
}

export class ClosedSide {
  readonly #seeds: readonly Seed[]
  readonly #options: ClosedOptions
  /** One job of each rung that was asked for. */
  readonly #works = new Map<string, RemedyOperationJob>()

  constructor(options: ClosedOptions) {
    this.#options = options
    const { rules, measured, familyOf, isSameFault, seeds } = options
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
        faulty: 0,
        countedAt: 0,
        version: -1,
        faultsVersion: -1,
        run: new RepairRun({
          rules,
          durationMs: (job) => measured.durationMs(job),
          helps,
          isSameFault,
          onCreated: ({ job }) => {
            if (job.spec.dryRun) return
            seed.jobs++
            this.#noteWork(job)
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

  step(now: number, verdicts: () => SideVerdicts, version: number, around: Surroundings, faults: FaultsNow): void {
    for (const seed of this.#seeds) {
      let isStepped = false
      for (
        let turn = 0;
        turn < MOST_TURNS && (seed.run.isDue || version !== seed.version || seed.run.wakeAt <= now);
        turn++
      ) {
        isStepped = true
        seed.version = version
        seed.run.step(now, verdicts(), around)
      }
      if (!isStepped && faults.version === seed.faultsVersion) continue
      this.#pass(seed, now)
      seed.faultsVersion = faults.version
      seed.faulty = seed.run.faultyOf(faults.nodes(), around)
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
      unmeasured: this.#unmeasured(),
    }
  }

  #noteWork(job: RemedyOperationJob): void {
    const { remedierRef, rung } = job.spec
    if (this.#works.size < MOST_WORKS) this.#works.set(`${remedierRef.name} ${rung}`, job)
  }

  /** At the end: chances are measured on the way. */
  #unmeasured(): readonly Unmeasured[] {
    const { measured, familyOf } = this.#options
    const all = [...this.#works.values()].flatMap((job) => measured.tooFew(job, familyOf(ruleOf(job))) ?? [])
    const byWork = new Map(all.map((one) => [one.operations, one]))
    return [...byWork.values()].toSorted((a, b) => (a.operations < b.operations ? -1 : 1))
  }

  #pass(seed: Seed, now: number): void {
    if (seed.countedAt > 0) seed.faultMs += seed.faulty * (now - seed.countedAt)
    seed.countedAt = now
  }
}

const MOST_TURNS = 5
/** Rungs of rules. */
const MOST_WORKS = 1_000

function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  return { median: at(0.5), p95: at(0.95) }
}
