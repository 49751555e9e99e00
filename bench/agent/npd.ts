// The same rules over the same log in turn by a node-problem-detector, where one is on this machine, and by an agent: what each line costs, seen from outside.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loopbackAddress } from '#agent/node/address.ts'
import { systemClock } from '#lib/clock.ts'
import { AgentBench, MACHINE, eventually } from '#test/integration/agent-bench.ts'
import { median, type Figures } from '../result.ts'
import { MATCHING, familyMb, kernelConfig, messages } from './detection.ts'

const ROUNDS = 5
/** The kernel counts processor time in these. */
const TICK_MS = 10
/** Nothing was done for so long: the lines are read. */
const CALM_MS = 500
const MOST_MS = 120_000

/** The program, as the environment names it or as it lies in the PATH. */
export function npdProgram(env: NodeJS.ProcessEnv): string | undefined {
  const program = env['KUBENODE_NPD'] ?? 'node-problem-detector'
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0 ? program : undefined
}

interface Runner {
  readonly child: ChildProcess
  readonly log: string
  readonly metrics: string
}

/** Where /metrics is found; the counters of both have the same names. */
async function counted(metrics: string): Promise<number> {
  const text = await (await fetch(metrics)).text()
  return [...text.matchAll(/^problem_counter\{[^}]*\} (\d+)$/gm)].reduce((sum, [, n]) => sum + Number(n), 0)
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

const monitorOf = (logPath: string) => ({
  ...(kernelConfig() as Readonly<Record<string, unknown>>),
  logPath,
  lookback: '5m',
})

async function startNpd(program: string, folder: string): Promise<Runner> {
  const [log, config, port] = [join(folder, 'kern.log'), join(folder, 'kernel-monitor.json'), await freePort()]
  writeFileSync(log, '')
  writeFileSync(config, JSON.stringify(monitorOf(log)))
  const args = ['--enable-k8s-exporter=false', '--port=0', `--prometheus-port=${port}`]
  const child = spawn(program, [...args, `--config.system-log-monitor=${config}`], {
    stdio: 'ignore',
    env: { ...process.env, NODE_NAME: 'bench' },
  })
  return { child, log, metrics: `http://127.0.0.1:${port}/metrics` }
}

async function startAgent(bench: AgentBench): Promise<Runner> {
  const port = await freePort()
  const logs = join(bench.nodeFolder, 'root/var/log')
  mkdirSync(logs, { recursive: true })
  const log = join(logs, 'kern.log')
  writeFileSync(log, '')
  bench.writeJoin()
  bench.writeConfig({ monitors: [{ config: monitorOf('/var/log/kern.log') }], metrics: { port } })
  const child = bench.run()
  await eventually(
    'the node',
    () => bench.condition('KernelDeadlock'),
    (c) => c !== undefined,
    60_000,
  )
  return { child, log, metrics: `http://${loopbackAddress(bench.cluster, MACHINE)}:${port}/metrics` }
}

function cpuMs({ pid }: ChildProcess): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

const month = new Date().toLocaleString('en', { month: 'short' })
/** Lines as rsyslog writes them, of now. */
function text(): string {
  const now = new Date()
  const stamp = `${month} ${String(now.getDate()).padStart(2, ' ')} ${now.toTimeString().slice(0, 8)}`
  return messages.map((m, n) => `${stamp} node1 kernel: [${n}.000000] ${m}\n`).join('')
}

/** Processor seconds for all lines. */
async function round({ child, log, metrics }: Runner): Promise<number> {
  const [before, known] = [cpuMs(child), await counted(metrics)]
  appendFileSync(log, text())
  const until = systemClock.monotonic() + MOST_MS
  let last = before
  for (let since = systemClock.monotonic(); systemClock.monotonic() - since < CALM_MS; await systemClock.sleep(50)) {
    const now = cpuMs(child)
    // One that has not begun is not calm.
    if (now !== last || now === before) since = systemClock.monotonic()
    last = now
    if (systemClock.monotonic() > until) break
  }
  const seen = (await counted(metrics)) - known
  if (seen !== Math.ceil(messages.length * MATCHING)) throw new Error(`${seen} lines were counted by ${metrics}`)
  return (last - before) / 1_000
}

export interface Compared {
  readonly ours: Figures
  readonly peer: Figures
  /** Of what the same work costs there. */
  readonly ratio: number
  readonly version: string
}

export async function compareWithNpd(program: string): Promise<Compared> {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-npd-'))
  const bench = new AgentBench()
  let npd: Runner | undefined
  try {
    await bench.start()
    npd = await startNpd(program, folder)
    const { metrics } = npd
    await eventually(
      'the other detector',
      () =>
        counted(metrics).then(
          () => true,
          () => false,
        ),
      Boolean,
    )
    const agent = await startAgent(bench)
    const [theirs, ours]: [number[], number[]] = [[], []]
    for (let n = 0; n < ROUNDS; n++) {
      theirs.push(await round(npd))
      ours.push(await round(agent))
    }
    const [a, b] = [median(ours), median(theirs)]
    return {
      ours: { cpu_s_100k_followed: a, followed_mb: familyMb(agent.child.pid ?? 0) },
      peer: { cpu_s_100k_followed: b, followed_mb: familyMb(npd.child.pid ?? 0) },
      ratio: a / b,
      version: spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout.trim(),
    }
  } finally {
    npd?.child.kill('SIGKILL')
    await bench.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
