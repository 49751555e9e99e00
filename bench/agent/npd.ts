// The same rules over the same log in turn by a node-problem-detector, where one is on this machine, and by an agent: what each line costs, seen from outside.
import { spawnSync, type ChildProcess } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loopbackAddress } from '#agent/node/address.ts'
import { systemClock } from '#lib/system-clock.ts'
import { AgentBench, MACHINE, eventually } from '#test/integration/agent-bench.ts'
import { problemMetrics, startNpd, syslogLine, type Detector } from '#test/support/fleets/npd-program.ts'
import { freePort } from '#test/support/servers/free-port.ts'
import { median, type Figures } from '../result.ts'
import { MATCHING, familyMb, kernelConfig, messages } from './detection.ts'

const ROUNDS = 5
/** The kernel counts processor time in these. */
const TICK_MS = 10
/** The monitor has read all lines once it was idle for this long. */
const CALM_MS = 500
const MOST_MS = 120_000

async function counted(metrics: string): Promise<number> {
  const counters = (await problemMetrics(metrics)).filter((line) => line.startsWith('problem_counter'))
  return counters.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

const monitor = { ...(kernelConfig() as Readonly<Record<string, unknown>>), lookback: '5m' }

async function startAgent(bench: AgentBench): Promise<Detector> {
  const port = await freePort()
  const logs = join(bench.nodeFolder, 'root/var/log')
  mkdirSync(logs, { recursive: true })
  const log = join(logs, 'kern.log')
  writeFileSync(log, '')
  bench.writeJoin()
  bench.writeConfig({ monitors: [{ config: { ...monitor, logPath: '/var/log/kern.log' } }], metrics: { port } })
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

const text = (): string => messages.map(syslogLine).join('')

const EXPECTED = Math.ceil(messages.length * MATCHING)

/** Processor seconds for all lines. */
async function round({ child, log, metrics }: Detector): Promise<number> {
  const [before, known] = [cpuMs(child), await counted(metrics)]
  appendFileSync(log, text())
  const until = systemClock.monotonic() + MOST_MS
  let [last, seen] = [before, 0]
  // Asking costs it something too, so it is asked when it is calm; one that paused in the middle is not done.
  do {
    last = await calm(child, before, until)
    seen = (await counted(metrics)) - known
  } while (seen < EXPECTED && systemClock.monotonic() < until)
  if (seen !== EXPECTED) throw new Error(`${seen} of ${EXPECTED} lines were counted by ${metrics}`)
  return (last - before) / 1_000
}

/** Its processor time once it does nothing any more. */
async function calm(child: ChildProcess, before: number, until: number): Promise<number> {
  let last = cpuMs(child)
  for (let since = systemClock.monotonic(); systemClock.monotonic() - since < CALM_MS; await systemClock.sleep(50)) {
    const now = cpuMs(child)
    // One that has not begun is not calm.
    if (now !== last || now === before) since = systemClock.monotonic()
    last = now
    if (systemClock.monotonic() > until) break
  }
  return last
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
  let npd: Detector | undefined
  try {
    await bench.start()
    await bench.makeMachine()
    npd = await startNpd(program, folder, monitor)
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
