// The whole way once: a fresh local fleet from the first process to Ready, then a commit until both clusters follow it. Wall time depends on who
// else uses the machine; CPU seconds hardly do.
import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { KubeNodeError } from '#lib/errors.ts'
import { rounded } from './result.ts'
import type { BenchOptions, BenchResult, Figures } from './result.ts'
import { livingOf, memoryMbOf, treeOf } from './whole-way/process-tree.ts'
import type { ProcessSeen } from './whole-way/process-tree.ts'
import { benchErrors } from './bench-errors.ts'

const ROOT = resolve(import.meta.dirname, '..')
const NODES = 5
/** A busy machine takes a fifth of it; beyond it the fleet hangs. */
const READY_WITHIN_MS = 240_000
const STOP_WITHIN_MS = 60_000
/** After Ready everything falls quiet, and programs collect their garbage within 15 s; then memory is that of a fleet at rest. */
const REST_S = 20
const VERSIONS = 'fleet/clusters/versions.json'
const BUMP = { beacon: '1.1.0' }

const exec = promisify(execFile)
const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms))
const secondsSince = (at: number): number => (performance.now() - at) / 1_000

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

/** Its own `ready after … is the answer of the same look that ends `local up --check`. */
function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((done, fail) => {
    const said: string[] = []
    const late = setTimeout(() => fail(broken('was not Ready in time', said)), READY_WITHIN_MS)
    const lines = createInterface({ input: child.stderr ?? process.stdin })
    lines.on('line', (line) => {
      said.push(line)
      if (!line.startsWith('ready after ')) return
      clearTimeout(late)
      done()
    })
    child.once('exit', (code) => {
      clearTimeout(late)
      fail(broken(`ended with ${code}`, said))
    })
  })
}

const broken = (how: string, said: readonly string[]): KubeNodeError =>
  new KubeNodeError(benchErrors.KN9020({ how, said: said.slice(-5).join(' | ') }))

async function converge(data: string, kubenode: string): Promise<number> {
  const repository = join(data, 'repository')
  const file = join(repository, VERSIONS)
  const versions = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>
  writeFileSync(file, `${JSON.stringify({ ...versions, ...BUMP }, null, 2)}\n`)
  const began = performance.now()
  await exec('git', ['-C', repository, 'commit', '--quiet', '-m', 'beacon 1.1.0', '--', VERSIONS])
  await exec(kubenode, ['local', 'status', '--data', data, '--wait', '--timeout', '4m'])
  return secondsSince(began)
}

async function stop(child: ChildProcess): Promise<number> {
  if (child.exitCode !== null || child.signalCode !== null) return 0
  const began = performance.now()
  const ended = new Promise<void>((done) => void child.once('exit', () => done()))
  child.kill('SIGINT')
  const hard = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS)
  await ended
  clearTimeout(hard)
  return secondsSince(began)
}

function endLeftovers(left: readonly ProcessSeen[]): void {
  for (const { pid } of left) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // it ended by itself
    }
  }
}

async function measure(nodes: number, restMs: number): Promise<Figures> {
  const data = mkdtempSync(join(tmpdir(), 'kubenode-bench-whole-way-'))
  const kubenode = join(ROOT, 'bin/kubenode')
  const began = performance.now()
  const child = spawn(kubenode, ['local', 'up', '--data', data, '--nodes', String(nodes)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const tree = () => treeOf(child.pid ?? 0)
  let seen: readonly ProcessSeen[] = []
  try {
    await untilReady(child)
    const ready_s = secondsSince(began)
    const cpu = cpuFigures(tree())
    await sleep(restMs)
    const memory = memoryFigures(tree())
    const converge_s = await converge(data, kubenode)
    seen = tree()
    const processes = seen.length
    const stop_s = await stop(child)
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
    await stop(child)
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
