// Runs one scenario over several seeds, and judges what it expects. The smallest seed that fails is the counter-example.
import type { Scenario } from '#api/scenario.ts'
import type { Expression, Figures } from '../backtest/expression.ts'
import { RuleSet, readByRules } from '../backtest/rule-set.ts'
import { FIGURE_NAMES, type Spread, expectationOf, figuresOf, spreadOf } from './figures.ts'
import { type RunRequest, type RunResult, runOnce } from './run-once.ts'
import { unrepairedIn, untestedIn } from './untested.ts'
import type { WorldObjects } from './world.ts'

export interface SimulationRequest extends Omit<RunRequest, 'seed'> {
  readonly name: string
  readonly seeds: number
}

export interface Unmet {
  readonly expectation: string
  /** Of all seeds. */
  readonly failed: number
  /** The smallest one. */
  readonly seed: number
  /** The figures that it names, as they are there. */
  readonly seen: readonly (readonly [name: string, value: number])[]
  readonly run: RunResult
}

export interface SimulationResult {
  readonly name: string
  readonly description: string
  readonly machines: number
  readonly seeds: number
  readonly complete: number
  /** Whether the commit changes anything. */
  readonly rollsOut: boolean
  readonly figures: Readonly<Record<string, Spread>>
  /** What was waited for: milliseconds over the seeds. */
  readonly waits: readonly { readonly what: string; readonly ms: Spread }[]
  readonly stuck: readonly string[]
  /** Components that switched on some machine. */
  readonly switched: readonly string[]
  readonly expected: readonly string[]
  /** Parts of the scenario that can never happen there: with them, nothing that it expects is proven. */
  readonly untested: readonly string[]
  /** What did not happen this time. */
  readonly notes: readonly string[]
  readonly unmet: readonly Unmet[]
}

const MOST_WAITS = 10

export async function simulate({ name, seeds, ...request }: SimulationRequest): Promise<SimulationResult> {
  const { scenario, objects } = request
  const expectations = (scenario.expect ?? []).map(expectationOf)
  const runs: RunResult[] = []
  for (let seed = 0; seed < seeds; seed++) {
    const run = await runOnce({ ...request, seed })
    runs.push(run)
  }
  const figures = runs.map(figuresOf)
  const untested = untestedIn(scenario, objects)
  return {
    name,
    description: scenario.description,
    machines: objects.machines.length,
    seeds,
    rollsOut: request.changedSets.length > 0,
    complete: runs.filter((r) => r.completeMs !== undefined).length,
    figures: Object.fromEntries(FIGURE_NAMES.map((f) => [f, spreadOf(figures.map((of) => of[f] ?? 0))])),
    waits: waitsOf(runs),
    stuck: [...new Set(runs.flatMap((r) => r.stuck))].slice(0, MOST_WAITS),
    switched: [...new Set(runs.flatMap((r) => r.switched))].toSorted(),
    expected: expectations.map((e) => e.text),
    untested,
    notes: [...notesOf(scenario, objects, runs), ...unrepairedIn(scenario, typesReadBy(request.rules))],
    unmet: expectations.flatMap((expectation) => unmetOf(expectation, runs, figures)),
  }
}

function unmetOf(
  { text, isTrue, names }: Expression,
  runs: readonly RunResult[],
  figures: readonly Figures[],
): readonly Unmet[] {
  const failed = runs.flatMap((run, n) => {
    const of = figures[n] ?? {}
    return isTrue(of) ? [] : [{ run, of }]
  })
  const [first] = failed
  if (first === undefined) return []
  const seen = names.map((name) => [name, first.of[name] ?? 0] as const)
  return [{ expectation: text, failed: failed.length, seed: first.run.seed, seen, run: first.run }]
}

/** A rollout may wait, fail earlier or have nothing to do. */
function notesOf({ badVersions = [] }: Scenario, { sets }: WorldObjects, runs: readonly RunResult[]): string[] {
  const known = new Set(sets.flatMap((s) => s.spec.components.map((c) => c.name)))
  const tried = new Set(runs.flatMap((r) => r.triedBad))
  const untried = new Set(badVersions.map((b) => b.component)).difference(tried).intersection(known)
  return [...untried].map((name) => `no machine switched to ${name}, so its bad version was not tried`)
}

const typesReadBy = (rules: RunRequest['rules']): ReadonlySet<string> | undefined =>
  readByRules(new RuleSet(rules).active().map(({ rule }) => rule)).types

/** A run that did not wait for it counts as zero. */
function waitsOf(runs: readonly RunResult[]): SimulationResult['waits'] {
  const names = new Set(runs.flatMap((r) => r.waits.map((w) => w.what)))
  return [...names]
    .map((what) => ({ what, ms: spreadOf(runs.map((r) => r.waits.find((w) => w.what === what)?.ms ?? 0)) }))
    .toSorted((a, b) => b.ms.p50 - a.ms.p50 || b.ms.p95 - a.ms.p95)
    .slice(0, MOST_WAITS)
}
