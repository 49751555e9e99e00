// What it costs to be measured: one scrape of the controllers of a cluster with 10,000 machines and 150,000 pods, and one of an agent on this host. A scrape waits for
// nothing, so its processor time is what it takes on a quiet machine; the bounds are held against that. The figures:
//   start_ms            until every node has its state, when a term begins.
//   exposition_cpu_ms   of a scrape of the whole cluster: at most 300; exposition_kb: at most 20,000.
//   series, series_…    in all, and of the largest families. series_small: of 120 machines in the same pools; the two differ only by what a smaller fleet lacks.
//   rest_core           share of a core without a scraper: at most a thousandth.
//   agent_cpu_ms, agent_kb  of a scrape of one host: at most 3 and 60.
//   within              1 when all of that holds.
import { agentFigures } from './measure/agent.ts'
import { controllersFigures } from './measure/controllers.ts'
import type { BenchOptions, BenchResult, Figures } from './result.ts'

const MACHINES = 10_000
const PODS = 150_000
const ROUNDS = 15
const REST_S = 20
const SCRAPES = 200
/** More than all pools, zones and classes together. */
const SMALL = 120

const BOUNDS = {
  exposition_cpu_ms: 300,
  exposition_kb: 20_000,
  agent_cpu_ms: 3,
  agent_kb: 60,
  rest_core: 0.001,
} as const

export const smoke: Figures = { machines: 100, pods: 1_000, rounds: 1, rest_s: 0.2, scrapes: 2 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const { machines = MACHINES, pods = PODS, rounds = ROUNDS, rest_s: restS = REST_S, scrapes = SCRAPES } = numbers
  const whole: Figures = {
    ...(await controllersFigures({ machines, pods, rounds, restS })),
    ...agentFigures(scrapes),
  }
  const small = await controllersFigures({ machines: SMALL, pods: SMALL, rounds: 1, restS: 0 })
  const isWithin = Object.entries(BOUNDS).every(([name, most]) => (whole[name] ?? Number.POSITIVE_INFINITY) <= most)
  return {
    figures: { ...whole, series_small: small['series'] ?? 0, machines, within: isWithin ? 1 : 0 },
    peer: null,
    ratio: {},
  }
}
