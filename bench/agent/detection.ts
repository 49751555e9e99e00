// What problem detection costs and how fast it is: processor time for 100,000 lines of a kernel's log under fourteen rules, the time from a line to the
// condition on a watch, and the memory of all the agent's processes during a storm of lines.
import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LogMonitor } from '#agent/detect/npd/log-monitor.ts'
import { fileLineReader } from '#agent/detect/npd/file-line.ts'
import { parseKmsg } from '#agent/detect/npd/kmsg.ts'
import { parseMonitor, type LogMonitorConfig } from '#api/agent-config/monitor-config.ts'
import { ProblemMetrics } from '#agent/detect/npd/problem-metrics.ts'
import { nodeType } from '#agent/node/types.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isObject } from '#lib/json.ts'
import { oneSource } from '#test/doubles/node/one-source.ts'
import { AgentBench, eventually, MACHINE } from '#test/integration/agent-bench.ts'
import { median, type BenchOptions, type Figures } from '../result.ts'

const LINES = 100_000
/** One line in a hundred is one that a rule knows. */
export const MATCHING = 0.01
const ROUNDS = 3

/** Like those that ship with node-problem-detector for the kernel: as many, of the same kinds. */
const RULES: readonly (readonly [reason: string, pattern: string, condition?: string])[] = [
  ['OOMKilling', 'Killed process \\d+ (.+) total-vm:\\d+kB, anon-rss:\\d+kB.*'],
  ['TaskHung', 'task [\\S ]+:\\w+ blocked for more than \\w+ seconds\\.'],
  ['NetDeviceBusy', 'unregister_netdevice: waiting for \\w+ to become free\\. Usage count = \\d+'],
  ['NullPointer', 'BUG: unable to handle kernel NULL pointer .*'],
  ['DivideError', 'divide error: 0000 \\[#\\d+\\] SMP'],
  ['Ext4Error', 'EXT4-fs error .*'],
  ['Ext4Warning', 'EXT4-fs warning .*'],
  ['BlockError', 'Buffer I/O error .*'],
  ['XfsStopped', 'XFS .* Shutting down filesystem.?', 'FilesystemStopped'],
  ['MemoryError', 'CE memory read error .*'],
  ['HardwareCorrected', '.*\\[Hardware Error\\]: event severity: corrected$'],
  ['HardwareRecoverable', '.*\\[Hardware Error\\]: event severity: recoverable$'],
  ['HardwareFatal', '.*\\[Hardware Error\\]: event severity: fatal$', 'HardwareFailed'],
  ['RuntimeHung', 'task docker:\\w+ blocked for more than \\w+ seconds\\.', 'KernelDeadlock'],
]

const KNOWN = [
  'Killed process 1431 (java) total-vm:8127328kB, anon-rss:6306328kB, file-rss:11132kB, shmem-rss:0kB',
  'INFO: task jbd2/vda1-8:231 blocked for more than 245 seconds.',
  'EXT4-fs error (device vda1): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0',
  '{2}[Hardware Error]: event severity: recoverable',
]

const UNKNOWN = Array.from(
  { length: 97 },
  (_, n) => `audit: type=1400 audit(1600000000.${n}:${n}): apparmor="ALLOWED" operation="open" pid=${n} comm="bash"`,
)

export const kernelConfig = (): unknown => ({
  plugin: 'filelog',
  pluginConfig: { timestamp: '^.{15}', message: 'kernel: \\[.*\\] (.*)', timestampFormat: 'Jan _2 15:04:05' },
  logPath: '/var/log/kern.log',
  source: 'kernel-monitor',
  bufferSize: 10,
  conditions: RULES.flatMap(([, , type]) => (type === undefined ? [] : [{ type, reason: 'Fine', message: '' }])),
  rules: RULES.map(([reason, pattern, condition]) => ({
    type: condition === undefined ? 'temporary' : 'permanent',
    reason,
    pattern,
    ...defined({ condition }),
  })),
})

function monitorOf(value: unknown): LogMonitorConfig {
  const { monitor } = parseMonitor(value)
  if (monitor?.kind !== 'Log') throw new Error('the rules of the benchmark are no log monitor')
  return monitor
}

function startedMonitor(config: LogMonitorConfig): LogMonitor {
  const monitor = new LogMonitor(config, {
    conditions: oneSource(),
    metrics: new ProblemMetrics(),
    onEvent: () => undefined,
  })
  monitor.start()
  return monitor
}

/** Of a busy kernel; `MATCHING` of them are known to a rule. */
export const messages = Array.from({ length: LINES }, (_, n) =>
  n % Math.round(1 / MATCHING) === 0 ? (KNOWN[(n / 100) % KNOWN.length] ?? '') : (UNKNOWN[n % UNKNOWN.length] ?? ''),
)

function secondsOf(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

/** The same lines as records of /dev/kmsg and as lines of a syslog file. */
export function detectionCpu({ numbers }: BenchOptions): Figures {
  const config = monitorOf(kernelConfig())
  const records = messages.map((m, n) => `6,${n},${n * 10},-;${m}`)
  const lines = messages.map((m, n) => `Nov 20 12:00:00 node1 kernel: [${n}.000000] ${m}`)
  const { plugin } = config
  if (plugin.kind !== 'filelog') throw new Error('the rules of the benchmark are not read from a file')
  const [kmsg, file]: [number[], number[]] = [[], []]
  for (let round = 0; round < (numbers['rounds'] ?? ROUNDS); round++) {
    const [ofKmsg, ofFile] = [startedMonitor(config), startedMonitor(config)]
    const read = fileLineReader(plugin)
    kmsg.push(
      secondsOf(() => {
        for (const r of records) ofKmsg.take(parseKmsg(r)?.message ?? '')
      }),
    )
    file.push(
      secondsOf(() => {
        for (const l of lines) {
          const said = ofFile.mayMatter(l) ? read(l, 0) : undefined
          if (said !== undefined) ofFile.take(said.message)
        }
      }),
    )
  }
  return { cpu_s_100k_lines: median(kmsg), cpu_s_100k_file_lines: median(file) }
}

const TOGGLES = 100
const STORM_S = 8
/** The storm: 4,500 killed processes a minute. */
const STORM_PER_S = 75
const BETWEEN_MS = 20

/** A real agent over HTTPS: from the line in its log to the condition on a watch; then a storm. */
export async function conditionFigures({ numbers }: BenchOptions): Promise<Figures> {
  const bench = new AgentBench()
  await bench.start()
  try {
    await bench.makeMachine()
    bench.writeJoin()
    const monitor = { ...(kernelConfig() as Readonly<Record<string, unknown>>), lookback: '5m' }
    const rules = [{ condition: 'Toggled', reason: 'Broken', pattern: 'broken \\d+', clearPattern: 'mended \\d+' }]
    bench.writeConfig({ logs: [{ path: '/var/log/toggle', rules }], monitors: [{ config: monitor }], metrics: false })
    const logs = join(bench.nodeFolder, 'root/var/log')
    mkdirSync(logs, { recursive: true })
    const [toggle, kernel] = [join(logs, 'toggle'), join(logs, 'kern.log')]
    for (const path of [toggle, kernel]) writeFileSync(path, '')
    const agent = bench.run()
    await eventually(
      'the node',
      () => bench.condition('KernelDeadlock'),
      (c) => c !== undefined,
    )
    // Others who use the machine for a moment spoil one round, not the middle one.
    const rounds: (readonly number[])[] = []
    for (let round = 0; round < (numbers['rounds'] ?? ROUNDS); round++)
      rounds.push(await latencies(bench, toggle, numbers['toggles'] ?? TOGGLES))
    const storm = await stormMb(agent.pid ?? 0, kernel, numbers['storm_s'] ?? STORM_S)
    return {
      condition_p50_ms: median(rounds.map((r) => at(r, 0.5))),
      condition_p99_ms: median(rounds.map((r) => at(r, 0.99))),
      rss_storm_mb: storm,
    }
  } finally {
    await bench.stop()
  }
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN

async function latencies(bench: AgentBench, path: string, toggles: number): Promise<readonly number[]> {
  const stop = new AbortController()
  let wanted = ''
  let seen = (): void => undefined
  const watching = (async () => {
    const options = { fieldSelector: `metadata.name=${MACHINE}`, signal: stop.signal }
    for await (const event of bench.client.watch(nodeType, options)) {
      const status = event.type === 'BOOKMARK' ? undefined : event.object['status']
      const list = isObject(status) && Array.isArray(status['conditions']) ? status['conditions'].filter(isObject) : []
      if (list.some((c) => c['type'] === 'Toggled' && c['status'] === wanted)) seen()
    }
  })().catch(() => undefined)
  const times: number[] = []
  for (let n = 0; n < toggles; n++) {
    const isOn = n % 2 === 0
    wanted = isOn ? 'True' : 'False'
    const came = new Promise<void>((resolve) => {
      seen = resolve
    })
    const began = performance.now()
    appendFileSync(path, isOn ? `broken ${n}\n` : `mended ${n}\n`)
    await came
    times.push(performance.now() - began)
    await systemClock.sleep(BETWEEN_MS)
  }
  stop.abort()
  await watching
  return times.sort((a, b) => a - b)
}

/** The most that the agent and all that it started used at any look. */
async function stormMb(pid: number, path: string, seconds: number): Promise<number> {
  let most = 0
  const month = new Date().toLocaleString('en', { month: 'short' })
  for (let second = 0; second < seconds * 4; second++) {
    const time = new Date().toTimeString().slice(0, 8)
    const day = String(new Date().getDate()).padStart(2, ' ')
    let text = ''
    for (let n = 0; n < STORM_PER_S; n++)
      text += `${month} ${day} ${time} node1 kernel: [${second}.${n}] Killed process ${second * 100 + n} (java) total-vm:8127328kB, anon-rss:6306328kB\n`
    appendFileSync(path, text)
    await systemClock.sleep(250)
    most = Math.max(most, familyMb(pid))
  }
  return most
}

export function familyMb(pid: number): number {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc').filter((p) => /^\d+$/.test(p))) {
    const stat = existsSync(`/proc/${name}/stat`) ? readText(`/proc/${name}/stat`) : ''
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    children.set(parent, [...(children.get(parent) ?? []), Number(name)])
  }
  const sum = (one: number): number =>
    pssMb(one) + (children.get(one) ?? []).reduce((total, child) => total + sum(child), 0)
  return sum(pid)
}

const pssMb = (pid: number): number =>
  Number(/^Pss:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1_024

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
