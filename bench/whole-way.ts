// The whole way once: a fresh local fleet from the first process to Ready, then a commit until both clusters follow it. Wall time depends on who
// else uses the machine; CPU seconds hardly do.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rounded } from './result.ts'
import type { BenchOptions, BenchResult, Figures } from './result.ts'
import { endLeftovers, followBeacon, secondsSince, startLocal, stopLocal, untilReady } from './whole-way/local-fleet.ts'
import { livingOf, memoryMbOf, treeOf } from './whole-way/process-tree.ts'
import type { ProcessSeen } from './whole-way/process-tree.ts'

const NODES = 5
/** After Ready everything falls quiet, and programs collect their garbage within 15 s; then memory is that of a fleet at rest. */
const REST_S = 20

const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms))

/** Assigns a process to a part by its command line. */
const PARTS: readonly (readonly [name: string, isOf: (command: string) => boolean])[] = [
  ['apiservers', (c) => c.includes(' apiserver ')],
  ['roles', (c) => / run --(roles|follow) /.test(c)],
  ['agents', (c) => c.includes('agent-main.')],
  ['local', (c) => c.includes(' local up ')],
]

function cpuFigures(tree: readonly ProcessSeen[]): Figures {
  const sum = (of: readonly ProcessSeen[]) => of.reduce((s, p) => s + p.cpuSeconds, 0)
  const parts = PARTS.map(([name, isOf]) => [`cpu_${name}_s`, sum(tree.filter((p) => isOf(p.command)))] as const)
  return { cpu_s: sum(tree), ...Object.fromEntries(parts) }
}

/** Of the goal of 700 MB the approvers are no part: each keeps a process of its own, whatever it takes. */
function memoryFigures(tree: readonly ProcessSeen[]): Figures {
  const isApprover = ({ command }: ProcessSeen) => command.includes('/approvers.json')
  const parts = PARTS.map(
    ([name, isOf]) => [`pss_${name}_mb`, memoryMbOf(tree.filter((p) => isOf(p.command)))] as const,
  )
  return {
    pss_mb: memoryMbOf(tree.filter((p) => !isApprover(p))),
    ...Object.fromEntries(parts),
    pss_approvers_mb: memoryMbOf(tree.filter(isApprover)),
  }
}

async function measure(nodes: number, restMs: number): Promise<Figures> {
  const data = mkdtempSync(join(tmpdir(), 'kubenode-bench-whole-way-'))
  const began = performance.now()
  const child = startLocal(data, nodes)
  const tree = () => treeOf(child.pid ?? 0)
  let seen: readonly ProcessSeen[] = []
  try {
    await untilReady(child)
    const ready_s = secondsSince(began)
    const cpu = cpuFigures(tree())
    await sleep(restMs)
    const memory = memoryFigures(tree())
    const converge_s = await followBeacon(data, '1.1.0', '4m')
    seen = tree()
    const processes = seen.length
    const stop_s = await stopLocal(child)
    return {
      ready_s,
      converge_s,
      stop_s,
      processes,
      processes_left: livingOf(seen, data).length,
      ...cpu,
      ...memory,
    }
  } finally {
    seen = [...seen, ...tree()]
    await stopLocal(child)
    endLeftovers(livingOf(seen, data))
    rmSync(data, { recursive: true, force: true })
  }
}

export const smoke: Figures = { nodes: 1, rest_s: 0 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const figures = await measure(numbers['nodes'] ?? NODES, (numbers['rest_s'] ?? REST_S) * 1_000)
  const round = Object.fromEntries(Object.entries(figures).map(([k, v]) => [k, rounded(v)]))
  return { figures: round, peer: null, ratio: {} }
}
