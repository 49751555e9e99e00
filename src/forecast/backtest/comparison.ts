// Compares what both sides asked for with each other, and what the base asked for with what was recorded.
import { type Paired, Pairs } from './pairs.ts'
import type { Down } from './downs.ts'
import { type BacktestResult, type Example, MOST_EXAMPLES, type PermitsResult, type RuleResult } from './result.ts'
import { type SideSums, noSums } from './sums.ts'
import { SAME_WITHIN_MS } from './replayed-job.ts'
import type { Side } from './verdicts.ts'

/** Dry runs are no repairs, and are compared with nothing. */
export interface AskedJob extends Paired, Example {}

interface Moved {
  added: number
  removed: number
  earlier: number
  later: number
}

/** A job that one side asks for this much later is another job. */
const MOVED_WITHIN_MS = 60 * 60_000
/** Times of observation differ by less. */
const SAME_TIME_MS = 1_000

export class Comparison {
  readonly #moved = new Map<string, Moved>()
  readonly #examples = {
    added: [] as Example[],
    removed: [] as Example[],
    needless: [] as Example[],
    missed: [] as Example[],
  }
  readonly #calibration = {
    recorded: 0,
    predicted: 0,
    matched: 0,
    exact: 0,
    missing: [] as Example[],
    invented: [] as Example[],
  }
  readonly #permits = new Map<string, Partial<Record<Side, number>>>()
  readonly #others = { asked: 0, base: 0, change: 0, refused: 0, allowed: 0, later: 0, sooner: 0 }
  readonly #missed = { base: 0, change: 0 }

  readonly #sides = new Pairs<AskedJob, AskedJob>({
    windowMs: MOVED_WITHIN_MS,
    onPair: (base, change) => {
      if (change.at <= base.at - SAME_TIME_MS) this.#of(base.rule).earlier++
      if (change.at >= base.at + SAME_TIME_MS) this.#of(base.rule).later++
    },
    onFirstAlone: (one) => {
      this.#of(one.rule).removed++
      keep(this.#examples.removed, one)
    },
    onSecondAlone: (one) => {
      this.#of(one.rule).added++
      keep(this.#examples.added, one)
    },
  })
  readonly #reality = new Pairs<AskedJob, AskedJob>({
    windowMs: SAME_WITHIN_MS,
    onPair: (own, recorded) => {
      this.#calibration.matched++
      if (own.name === recorded.name) this.#calibration.exact++
    },
    onFirstAlone: (one) => keep(this.#calibration.invented, one),
    onSecondAlone: (one) => keep(this.#calibration.missing, one),
  })

  asksFor(side: Side, job: AskedJob): void {
    if (side === 'change') return this.#sides.putSecond(job)
    this.#sides.putFirst(job)
    this.#calibration.predicted++
    this.#reality.putFirst(job)
  }

  recorded(job: AskedJob): void {
    this.#calibration.recorded++
    this.#reality.putSecond(job)
  }

  needless(example: Example): void {
    keep(this.#examples.needless, example)
  }

  down({ node, since }: Down, isRepaired: (side: Side) => boolean): void {
    const base = isRepaired('base')
    const change = isRepaired('change')
    if (!base) this.#missed.base++
    if (change) return
    this.#missed.change++
    if (base) keep(this.#examples.missed, { node, rule: '', at: since })
  }

  isAsked(permit: string): boolean {
    return this.#permits.has(permit)
  }

  asked(permit: string): void {
    if (this.#permits.has(permit)) return
    this.#permits.set(permit, {})
    this.#others.asked++
  }

  granted(side: Side, permit: string, at: number): void {
    const known = this.#permits.get(permit)
    if (known === undefined || known[side] !== undefined) return
    known[side] = at
    this.#others[side]++
  }

  permitGone(permit: string): void {
    const known = this.#permits.get(permit)
    this.#permits.delete(permit)
    if (known === undefined) return
    const { base, change } = known
    if (base !== undefined && change === undefined) this.#others.refused++
    if (base === undefined && change !== undefined) this.#others.allowed++
    if (base === undefined || change === undefined) return
    if (change > base + SAME_TIME_MS) this.#others.later++
    if (change < base - SAME_TIME_MS) this.#others.sooner++
  }

  passed(now: number): void {
    this.#sides.passed(now)
    this.#reality.passed(now)
  }

  result({
    base,
    change,
  }: Readonly<Record<Side, SideSums>>): Pick<
    BacktestResult,
    'calibration' | 'rules' | 'total' | 'permits' | 'examples'
  > {
    this.#sides.end()
    this.#reality.end()
    base.missed = this.#missed.base
    change.missed = this.#missed.change
    const names = new Set([...base.rules.keys(), ...change.rules.keys(), ...this.#moved.keys()])
    const rules: readonly RuleResult[] = [...names].toSorted().map((rule) => ({
      rule,
      base: base.rules.get(rule) ?? noSums(),
      change: change.rules.get(rule) ?? noSums(),
      ...this.#of(rule),
    }))
    const sum = (of: (rule: RuleResult) => number): number => rules.reduce((all, rule) => all + of(rule), 0)
    const { recorded, predicted, matched } = this.#calibration
    const either = recorded + predicted - matched
    return {
      calibration: { ...this.#calibration, share: either === 0 ? 1 : matched / either },
      rules,
      total: {
        added: sum((r) => r.added),
        removed: sum((r) => r.removed),
        earlier: sum((r) => r.earlier),
        later: sum((r) => r.later),
      },
      permits: this.#permitsResult(),
      examples: this.#examples,
    }
  }

  #permitsResult(): PermitsResult {
    for (const permit of this.#permits.keys()) this.permitGone(permit)
    const { base, change, ...counts } = this.#others
    return { ...counts, granted: { base, change } }
  }

  #of(rule: string): Moved {
    const known = this.#moved.get(rule) ?? { added: 0, removed: 0, earlier: 0, later: 0 }
    this.#moved.set(rule, known)
    return known
  }
}

function keep(examples: Example[], { node, rule, at }: Example): void {
  if (examples.length < MOST_EXAMPLES) examples.push({ node, rule, at })
}
