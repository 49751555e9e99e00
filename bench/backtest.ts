// A month of a fleet replayed under two sets of rules, in a process of its own: what `kubenode rules backtest` costs beside reading the file. The figures:
//   replay_cpu_s     processor time of both replays together, open loop; at most 60 for 30 days of 10,000 nodes with 6,000,000 transitions and 50 rules.
//   us_per_row       of a transition.
//   heap_mib         in use at the end; heap_early_mib: after a tenth of the time. Memory is flat when they are close: it holds the present state of the fleet alone.
//   rss_mib          the most that the process took, with what the engine had not collected yet.
//   read_us_per_row  to parse a line of an exported file, which the replay does not count.
//   within           1 when the bounds hold.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { LEAN_MALLOC } from '#lib/lean-malloc.ts'
import type { BenchOptions, BenchResult, Figures } from './result.ts'

const NODES = 10_000
const RULES = 50
/** Twenty a node and day. */
const TRANSITIONS = 6_000_000
const HEAP_MIB = 1_536
const MOST_CPU_S = 60
const MOST_GROWTH = 1.25

export const smoke: Figures = { nodes: 200, transitions: 20_000, rules: 20 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const { nodes = NODES, transitions = TRANSITIONS, rules = RULES } = numbers
  const file = join(import.meta.dirname, 'backtest/replay-process.ts')
  const memory = [`--max-old-space-size=${HEAP_MIB}`, '--max-semi-space-size=64'] // the second as in bin/kubenode
  const args = ['--expose-gc', ...memory, file, ...[nodes, transitions, rules].map(String)]
  const printed = execFileSync(process.execPath, args, { encoding: 'utf8', env: { ...process.env, ...LEAN_MALLOC } })
  const figures = JSON.parse(printed) as Figures
  const isFlat = (figures['heap_mib'] ?? Infinity) <= MOST_GROWTH * (figures['heap_early_mib'] ?? 0)
  const isWithin = (figures['replay_cpu_s'] ?? Infinity) <= MOST_CPU_S && isFlat
  return { figures: { nodes, transitions, rules, ...figures, within: isWithin ? 1 : 0 }, peer: null, ratio: {} }
}
