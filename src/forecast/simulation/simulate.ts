// Runs one scenario over several seeds, and judges what it expects. The smallest seed that fails is the counter-example.
import type { Expression, Figures } from '../backtest/expression.ts'
import { FIGURE_NAMES, type Spread, expectationOf, figuresOf, spreadOf } from './figures.ts'
import { type RunRequest, type RunResult, runOnce } from './run-once.ts'

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
  readonly figures: Readonly<Record<string, Spread>>
  /** What was waited for: milliseconds over the seeds. */
  readonly waits: readonly { readonly what: string; readonly ms: Spread }[]
  readonly stuck: readonly string[]
  readonly expected: readonly string[]
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
  return {
    name,
    description: scenario.description,
    machines: objects.machines.length,
    seeds,
    complete: runs.filter((r) => r.completeMs !== undefined).length,
    figures: Object.fromEntries(FIGURE_NAMES.map((f) => [f, spreadOf(figures.map((of) => of[f] ?? 0))])),
    waits: waitsOf(runs),
    stuck: [...new Set(runs.flatMap((r) => r.stuck))].slice(0, MOST_WAITS),
    expected: expectations.map((e) => e.text),
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

/** A run that did not wait for it counts as zero. */
function waitsOf(runs: readonly RunResult[]): SimulationResult['waits'] {
  const names = new Set(runs.flatMap((r) => r.waits.map((w) => w.what)))
  return [...names]
    .map((what) => ({ what, ms: spreadOf(runs.map((r) => r.waits.find((w) => w.what === what)?.ms ?? 0)) }))
    .toSorted((a, b) => b.ms.p50 - a.ms.p50 || b.ms.p95 - a.ms.p95)
    .slice(0, MOST_WAITS)
}
