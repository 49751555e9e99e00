// Metrics of the host, read only on request: an idle node pays nothing. Uses node-problem-detector's names where they exist; sums that it accumulates
// each round are the kernel's own counters here.
import { readdirSync, statfsSync } from 'node:fs'
import { release } from 'node:os'
import { compileRegex } from '#lib/regex.ts'
import { parseMounts } from '../detect/builtin/read-only.ts'
import type { StatsMonitorConfig } from '#api/agent-config/monitor-config.ts'
import { osVersion } from '../detect/npd/os-release.ts'
import { metricName, single, type MetricFamily, type Sample } from './exposition.ts'
import type { ReadText } from './host-files.ts'
import { osFeatures } from './os-features.ts'
import {
  CPU_STATES,
  NET_COLUMNS,
  parseDiskstats,
  parseMeminfo,
  parseNetDev,
  parsePressure,
  parseProcStat,
} from './proc-text.ts'

/** Weighted time of each disk at the last request; the mean queue length is computed between two requests. */
export interface DiskHistory {
  readonly atMs: number
  readonly weightedMs: ReadonlyMap<string, number>
}

export interface HostObservation {
  readonly families: readonly MetricFamily[]
  readonly disks: DiskHistory
}

type Add = (name: string, help: string, type: MetricFamily['type'], samples: readonly Sample[]) => void

const SECTOR = 512
const MAX_DEVICES = 256
const MAX_INTERFACES = 256

/** Undefined settings: everything, under its own name. */
export function hostMetrics(
  settings: readonly StatsMonitorConfig[],
  read: ReadText,
  before: DiskHistory | undefined,
  nowMs: number,
): HostObservation {
  const families: MetricFamily[] = []
  const add: Add = (name, help, type, samples) => {
    const shown = settings.length === 0 ? name : settings.map((s) => s.metrics.get(name)).find((n) => n !== undefined)
    if (shown !== undefined) families.push({ name: metricName(shown), help, type, samples })
  }
  addLoad(add, read)
  addCpu(add, read)
  addMemory(add, read)
  const disks = addDisks(add, read, before, nowMs)
  addSpace(add, read)
  addNet(add, read, settings)
  addHost(add, read, settings)
  return { families, disks }
}

function addLoad(add: Add, read: ReadText): void {
  const [one, five, fifteen] = (read('/proc/loadavg') ?? '').split(' ').map(Number)
  if (one === undefined || five === undefined || fifteen === undefined) return
  const runnable = 'The average number of runnable tasks in the run-queue during the last minute'
  add('cpu/runnable_task_count', runnable, 'gauge', [{ value: one }])
  add('cpu/load_1m', 'CPU average load (1m)', 'gauge', [{ value: one }])
  add('cpu/load_5m', 'CPU average load (5m)', 'gauge', [{ value: five }])
  add('cpu/load_15m', 'CPU average load (15m)', 'gauge', [{ value: fifteen }])
}

const TICKS_PER_SECOND = 100
/** node-problem-detector's names in this one metric. */
const STAGES: Readonly<Record<string, string>> = { irq: 'iRQ', softirq: 'softIRQ', guest_nice: 'guestNice' }

function addCpu(add: Add, read: ReadText): void {
  const text = read('/proc/stat')
  if (text === undefined) return
  const { cpus, interrupts, forks, running, blocked } = parseProcStat(text)
  const total = cpus.get('cpu') ?? []
  const usage = CPU_STATES.map((state, n) => ({ labels: { state }, value: total[n] ?? 0 }))
  add('cpu/usage_time', 'CPU time used, in ticks of a hundredth of a second', 'counter', usage)
  const stages = [...cpus]
    .filter(([name]) => name !== 'cpu')
    .flatMap(([cpu, ticks]) =>
      CPU_STATES.map((state, n) => ({
        labels: { cpu, stage: STAGES[state] ?? state },
        value: (ticks[n] ?? 0) / TICKS_PER_SECOND,
      })),
    )
  add('system/cpu_stat', 'Cumulative time each CPU spent in various stages, in seconds', 'counter', stages)
  add('system/processes_total', 'Number of forks since boot', 'counter', [{ value: forks }])
  add('system/procs_running', 'Number of processes currently running', 'gauge', [{ value: running }])
  add('system/procs_blocked', 'Number of processes currently blocked', 'gauge', [{ value: blocked }])
  add('system/interrupts_total', 'Number of interrupts serviced since boot', 'counter', [{ value: interrupts }])
}

function addMemory(add: Add, read: ReadText): void {
  const info = parseMeminfo(read('/proc/meminfo') ?? '')
  const of = (name: string): number => info.get(name) ?? 0
  const states = (...names: readonly (readonly [state: string, name: string])[]): readonly Sample[] =>
    names.flatMap(([state, name]) => (info.has(name) ? [{ labels: { state }, value: of(name) }] : []))
  const total = of('MemTotal')
  if (total === 0) return
  const used = total - of('MemFree') - of('Buffers') - of('Cached') - of('Slab')
  add('memory/bytes_used', 'Memory by use, in bytes', 'gauge', [
    ...states(['free', 'MemFree'], ['buffered', 'Buffers'], ['cached', 'Cached'], ['slab', 'Slab']),
    { labels: { state: 'used' }, value: used },
  ])
  const percent = [{ labels: { state: 'used' }, value: (used / total) * 100 }]
  add('memory/percent_used', 'Memory used, in percent of the total', 'gauge', percent)
  const dirty = states(['dirty', 'Dirty'], ['writeback', 'Writeback'])
  add('memory/dirty_used', 'Memory waiting for writeback or being written, in bytes', 'gauge', dirty)
  const anonymous = states(['active', 'Active(anon)'], ['inactive', 'Inactive(anon)'])
  add('memory/anonymous_used', 'Anonymous memory, in bytes', 'gauge', anonymous)
  const cache = states(['active', 'Active(file)'], ['inactive', 'Inactive(file)'])
  add('memory/page_cache_used', 'Page cache, in bytes', 'gauge', cache)
  add('memory/unevictable_used', 'Memory that cannot be evicted, in bytes', 'gauge', [{ value: of('Unevictable') }])
}

type OfDisk = (d: ReturnType<typeof parseDiskstats>[number]) => number

/** Disk fields; in pairs, reads come before writes. */
const DISK = {
  io: (d) => d.ioMs,
  weighted: (d) => d.weightedMs,
  operations: [(d) => d.reads, (d) => d.writes],
  merged: [(d) => d.readsMerged, (d) => d.writesMerged],
  bytes: [(d) => d.sectorsRead * SECTOR, (d) => d.sectorsWritten * SECTOR],
  times: [(d) => d.readMs, (d) => d.writeMs],
} as const satisfies Readonly<Record<string, OfDisk | readonly [OfDisk, OfDisk]>>

function addDisks(add: Add, read: ReadText, before: DiskHistory | undefined, nowMs: number): DiskHistory {
  const disks = parseDiskstats(read('/proc/diskstats') ?? '')
    .filter((d) => !isEmptyDevice(read, d.name))
    .slice(0, MAX_DEVICES)
  const each = (of: OfDisk): readonly Sample[] => disks.map((d) => ({ labels: { device_name: d.name }, value: of(d) }))
  const both = (r: OfDisk, w: OfDisk): readonly Sample[] =>
    disks.flatMap((d) => [
      { labels: { device_name: d.name, direction: 'read' }, value: r(d) },
      { labels: { device_name: d.name, direction: 'write' }, value: w(d) },
    ])
  const count = (name: string, help: string, samples: readonly Sample[]) =>
    add(`disk/${name}`, help, 'counter', samples)
  const { io, weighted, operations, merged, bytes, times } = DISK
  count('io_time', 'Time spent on the disk, in ms', each(io))
  count('weighted_io', 'Weighted time of the disk, in ms', each(weighted))
  count('operation_count', 'Disk operations', both(...operations))
  count('merged_operation_count', 'Merged disk operations', both(...merged))
  count('operation_bytes_count', 'Bytes read and written', both(...bytes))
  count('operation_time', 'Time spent in operations, in ms', both(...times))
  const elapsed = before === undefined ? 0 : nowMs - before.atMs
  if (before !== undefined && elapsed > 0) {
    const lengths = disks.flatMap((d) => {
      const old = before.weightedMs.get(d.name)
      const value = old === undefined ? 0 : Math.max(0, d.weightedMs - old) / elapsed
      return old === undefined ? [] : [{ labels: { device_name: d.name }, value }]
    })
    add('disk/avg_queue_len', 'Mean queue length since the last scrape', 'gauge', lengths)
  }
  return { atMs: nowMs, weightedMs: new Map(disks.map((d) => [d.name, d.weightedMs])) }
}

/** A loop device without a file, or a drive without a medium. */
const isEmptyDevice = (read: ReadText, name: string): boolean =>
  read(`/sys/class/block/${name.replaceAll('/', '!')}/size`)?.trim() === '0'

function addSpace(add: Add, read: ReadText): void {
  const used: Sample[] = []
  const percents: Sample[] = []
  const seen = new Set<string>()
  for (const mount of parseMounts(read('/proc/self/mountinfo') ?? '')) {
    const { source, mountPoint, type, options } = mount
    // A device that is mounted many times counts as one disk. File systems that may hang, such as network mounts, are not queried.
    if (!source.startsWith('/dev/') || seen.has(source) || seen.size >= MAX_DEVICES) continue
    seen.add(source)
    try {
      const { bsize, blocks, bfree, bavail } = statfsSync(mountPoint)
      const device = source.slice('/dev/'.length)
      const labels = { device_name: device, fs_type: type, mount_option: options.join(',') }
      const usedBytes = (blocks - bfree) * bsize
      used.push({ labels: { ...labels, state: 'free' }, value: bavail * bsize })
      used.push({ labels: { ...labels, state: 'used' }, value: usedBytes })
      const whole = usedBytes + bavail * bsize
      percents.push({ labels: { device_name: device }, value: whole === 0 ? 0 : (usedBytes / whole) * 100 })
    } catch {
      // Unmounted in between.
    }
  }
  add('disk/bytes_used', 'File system size by state (used or free), in bytes', 'gauge', used)
  add('disk/percent_used', 'Disk usage in percent of the usable size', 'gauge', percents)
}

function addNet(add: Add, read: ReadText, settings: readonly StatsMonitorConfig[]): void {
  const pattern = settings.map((s) => s.excludeInterfaces).find((e) => e !== undefined)
  const excluded = pattern === undefined ? undefined : compileRegex(pattern)
  const interfaces = [...parseNetDev(read('/proc/net/dev') ?? '')]
    .filter(([name]) => excluded?.test(name) !== true)
    .slice(0, MAX_INTERFACES)
  NET_COLUMNS.forEach((column, n) => {
    const samples = interfaces.map(([name, values]) => ({ labels: { interface_name: name }, value: values[n] ?? 0 }))
    add(`net/${column}`, `${column} of /proc/net/dev`, 'counter', samples)
  })
}

function addHost(add: Add, read: ReadText, settings: readonly StatsMonitorConfig[]): void {
  const labels = { kernel_version: release(), os_version: osVersion(read('/etc/os-release') ?? '') }
  const up = Math.floor(Number((read('/proc/uptime') ?? '').split(' ')[0]))
  if (Number.isFinite(up))
    add('host/uptime', 'The uptime of the operating system, in seconds', 'gauge', [{ labels, value: up }])
  const known = settings.map((s) => s.knownModulesPath).find((p) => p !== undefined)
  const features = osFeatures({
    cmdline: read('/proc/cmdline') ?? '',
    modules: read('/proc/modules') ?? '',
    knownModules: known === undefined ? '' : (read(known) ?? ''),
  })
  add('system/os_feature', 'Operating system features: 1 when enabled', 'gauge', features)
}

/** Metrics without a name in node-problem-detector. */
export function ownFamilies(read: ReadText): readonly MetricFamily[] {
  const pressure = ['cpu', 'memory', 'io'].flatMap((resource) =>
    parsePressure(read(`/proc/pressure/${resource}`) ?? '').map(({ kind, seconds }) => ({
      labels: { resource, kind },
      value: seconds,
    })),
  )
  const [open = 0, , most = 0] = (read('/proc/sys/fs/file-nr') ?? '').trim().split(/\s+/).map(Number)
  return [
    {
      name: 'kubenode_node_pressure_seconds_total',
      help: 'Time during which some or all tasks waited for the resource',
      type: 'counter',
      samples: pressure,
    },
    {
      name: 'kubenode_node_file_descriptors',
      help: 'Open files on the node and their limit',
      type: 'gauge',
      samples: [
        { labels: { kind: 'open' }, value: open },
        { labels: { kind: 'limit' }, value: most },
      ],
    },
  ]
}

/** The share of the agent in memory, in bytes. The kernel walks all its pages for it: as much work as the rest of a scrape. */
export const proportionalMemory = (read: ReadText): number | undefined => {
  const kb = /^Pss:\s+(\d+) kB$/m.exec(read('/proc/self/smaps_rollup') ?? '')?.[1]
  return kb === undefined ? undefined : Number(kb) * 1_024
}

export function ownProcess(pss: number | undefined): readonly MetricFamily[] {
  const { rss } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const files = countFiles()
  return [
    single('gauge', 'process_resident_memory_bytes', 'Resident memory of the agent', rss),
    ...(pss === undefined
      ? []
      : [
          single(
            'gauge',
            'kubenode_agent_proportional_memory_bytes',
            'Memory of the agent (proportional set size)',
            pss,
          ),
        ]),
    single('counter', 'process_cpu_seconds_total', 'CPU time used by the agent', (user + system) / 1e6),
    ...(files === undefined ? [] : [single('gauge', 'process_open_fds', 'Files opened by the agent', files)]),
  ]
}

function countFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}
