// What an idle agent costs, how soon it is ready, and how long a component is away while it is switched. The bundled agent under its supervisor, as on a host,
// with a dozen components.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { loopbackAddress } from '#agent/node/address.ts'
import { release } from '#test/doubles/node/release.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { systemClock } from '#lib/system-clock.ts'
import { AgentBench, MACHINE, beaconScript, eventually } from '#test/integration/agent-bench.ts'
import { median, type BenchOptions, type Figures } from '../result.ts'

const ROOT = join(import.meta.dirname, '../..')
const SLEEPERS = 10
const STARTS = 5
const SWITCHES = 5
/** What comes every few minutes (a status that is said again, the clock, the next watch) comes now and then in it. */
const IDLE_S = 180
/** By then the first checks, probes and writes after a start are over. */
const CALM_S = 15
/** The kernel counts processor time in these. */
const TICK_MS = 10

/** Passes bytes on and counts those that come from the agent. */
class CountingProxy {
  readonly #target: number
  readonly #server = net.createServer((from) => {
    const to = net.connect(this.#target, '127.0.0.1')
    from.on('data', (chunk) => (this.bytes += chunk.length))
    for (const s of [from, to]) s.on('error', () => [from, to].map((x) => x.destroy()))
    from.pipe(to).pipe(from)
  })
  bytes = 0

  constructor(target: number) {
    this.#target = target
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.close()
  }
}

/** Probed at the default interval of components. */
const beacon = (bench: AgentBench, version: string) =>
  release(bench.publisher, {
    version,
    entries: [{ name: 'bin/beacon', content: beaconScript(version), mode: 0o755 }],
    spec: {
      service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' },
      probes: [
        { name: 'http', http: { port: 18080, path: '/', tls: false }, interval: '10s', timeout: '1s', settle: '500ms' },
      ],
    },
  })

const sleeper = (bench: AgentBench, n: number) =>
  release(bench.publisher, {
    component: `sleeper-${n}`,
    version: '1.0.0',
    entries: [{ name: 'run', content: '#!/bin/sh\nexec sleep 100000\n', mode: 0o755 }],
    spec: {
      service: { exec: `/opt/sleeper-${n}/run`, restart: 'Always', killMode: 'Group' },
      probes: [{ name: 'file', file: { path: `/opt/sleeper-${n}/run` }, interval: '10s', timeout: '3s', settle: '1s' }],
    },
  })

type Order = Readonly<Record<string, unknown>>

const order = (bench: AgentBench, beacon: Order) =>
  bench.client.apply(
    machineType,
    {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name: MACHINE },
      spec: {
        components: [
          { name: 'beacon', attempt: 1, ...beacon },
          ...Array.from({ length: SLEEPERS }, (_, n) => ({ name: `sleeper-${n}`, version: '1.0.0', attempt: 1 })),
        ],
      },
    },
    { fieldManager: 'kubenode-machine', force: true },
  )

function start(bench: AgentBench, bundle: string): ChildProcess {
  const limits = ['--max-old-space-size=24', '--max-semi-space-size=1']
  const child = spawn(
    execPath,
    [...limits, join(bundle, 'supervisor.mjs'), join(bundle, 'agent.mjs'), '--root', bench.nodeFolder],
    {
      stdio: 'ignore',
      env: { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE: join(bench.folder, 'cache') },
    },
  )
  bench.agents.add(child)
  child.once('exit', () => bench.agents.delete(child))
  return child
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM')
  await once(child, 'exit')
}

/** The supervisor and its agent. */
function processes(child: ChildProcess): readonly number[] {
  const pid = child.pid ?? 0
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  return [pid, ...children.filter((c) => c !== '').map(Number)]
}

const pssKb = (pid: number): number =>
  Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])

function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)

const allHealthy = (bench: AgentBench) =>
  eventually(
    'all components',
    async () => (await bench.machine())?.status?.components ?? [],
    (all) => all.length === SLEEPERS + 1 && all.every((c) => c.state === 'Healthy'),
    60_000,
  )

/** From the start of the process to its first word about its Machine. */
async function starts(bench: AgentBench, bundle: string, count: number): Promise<Figures> {
  const [ms, cpu]: [number[], number[]] = [[], []]
  for (let n = 0; n < count; n++) {
    const before = bench.server.requests.length
    const startedAt = systemClock.monotonic()
    const child = start(bench, bundle)
    const isReport = (r: { method: string; path: string }) =>
      r.method === 'PATCH' && r.path.includes(`/machines/${MACHINE}/status`)
    while (!bench.server.requests.slice(before).some(isReport)) await systemClock.sleep(2)
    ms.push(systemClock.monotonic() - startedAt)
    cpu.push(sum(processes(child).map(cpuMs)))
    await end(child)
  }
  return { start_ms: Math.round(median(ms)), start_cpu_ms: median(cpu) }
}

async function rest(
  child: ChildProcess,
  proxy: CountingProxy,
  { calmS, seconds }: { readonly calmS: number; readonly seconds: number },
): Promise<Figures> {
  await systemClock.sleep(calmS * 1_000)
  const all = processes(child)
  const [cpu, bytes, at] = [sum(all.map(cpuMs)), proxy.bytes, systemClock.monotonic()]
  await systemClock.sleep(seconds * 1_000)
  const s = (systemClock.monotonic() - at) / 1_000
  return {
    rss_idle_mb: Math.round(sum(all.map(pssKb)) / 1_024),
    idle_cpu_pct: (sum(all.map(cpuMs)) - cpu) / (s * 10),
    idle_bytes_per_s: Math.round((proxy.bytes - bytes) / s),
  }
}

const answers = (bench: AgentBench): Promise<boolean> =>
  new Promise((resolve) => {
    const request = http.get(
      { host: loopbackAddress(bench.cluster, MACHINE), port: 18080, path: '/', agent: false, timeout: 200 },
      (r) => {
        r.resume()
        resolve(true)
      },
    )
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
  })

/** The longest time without an answer while a version takes the place of another. */
async function switches(bench: AgentBench, count: number): Promise<Figures> {
  const gaps: number[] = []
  for (let n = 0; n < count; n++) {
    const attempt = n + 2
    const version = n % 2 === 0 ? '1.1.0' : '1.0.0'
    await bench.permit(`p${attempt}`, 'SwitchComponent', 'Granted')
    await order(bench, { version, attempt })
    await eventually(
      'the new version staged',
      () => bench.component(),
      (c) => c?.state === 'Staged',
    )
    await order(bench, { version, attempt, switch: { attempt, permit: `p${attempt}` } })
    const end = new AbortController()
    let [lastAt, gap] = [systemClock.monotonic(), 0]
    void eventually(
      'the new version',
      () => bench.component(),
      (c) => c?.state === 'Healthy' && c.version === version,
    ).finally(() => end.abort())
    while (!end.signal.aborted) {
      if (await answers(bench)) {
        const now = systemClock.monotonic()
        gap = Math.max(gap, now - lastAt)
        lastAt = now
      }
      await systemClock.sleep(1)
    }
    gaps.push(gap)
  }
  return { switch_downtime_ms: Math.round(median(gaps)) }
}

export async function restFigures({ numbers }: BenchOptions): Promise<Figures> {
  const bench = new AgentBench()
  const bundle = join(bench.folder, 'agent')
  await bundleAgent({ root: ROOT, out: bundle, prefix: '/opt/kubenode' })
  await bench.start()
  const proxy = new CountingProxy(bench.server.port)
  try {
    for (const version of ['1.0.0', '1.1.0']) await bench.publish(beacon(bench, version))
    for (let n = 0; n < SLEEPERS; n++) await bench.publish(sleeper(bench, n))
    await order(bench, { version: '1.0.0' })
    mkdirSync(bench.nodeFolder, { recursive: true })
    writeFileSync(
      join(bench.nodeFolder, 'join.json'),
      JSON.stringify({ ...bench.joinBundle(), server: await proxy.listen() }),
    )
    const first = start(bench, bundle)
    await allHealthy(bench)
    await end(first)
    const started = await starts(bench, bundle, numbers['starts'] ?? STARTS)
    const child = start(bench, bundle)
    const rested = await rest(child, proxy, {
      calmS: numbers['calm_s'] ?? CALM_S,
      seconds: numbers['idle_s'] ?? IDLE_S,
    })
    const switched = await switches(bench, numbers['switches'] ?? SWITCHES)
    await end(child)
    return { ...rested, ...started, ...switched }
  } finally {
    proxy.close()
    await bench.stop()
  }
}
