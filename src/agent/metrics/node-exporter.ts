// Host metrics under node_exporter's names, as far as common alerts and dashboards use them. Pure apart from statfs.
import { statfsSync } from 'node:fs'
import { release } from 'node:os'
import { parseMounts } from '../detect/builtin/read-only.ts'
import type { MetricFamily, Sample } from './exposition.ts'
import { hardwareFamilies } from './hardware.ts'
import { type HostFiles, numberIn, type ReadText } from './host-files.ts'
import {
  CPU_STATES,
  NET_COLUMNS,
  parseDiskstats,
  parseMeminfo,
  parseNetDev,
  parsePressure,
  parseProcStat,
} from './proc-text.ts'

/** More than this is a misconfigured mount or network, and each one costs several series. */
const MOST_DEVICES = 256
const TICKS_PER_SECOND = 100
const SECTOR = 512

type Numbers = readonly (readonly [name: string, value: number | undefined])[]

export function nodeExporterFamilies(files: HostFiles, nowMs: number): readonly MetricFamily[] {
  const { read } = files
  return [
    ...loadFamilies(read),
    ...statFamilies(read),
    ...memoryFamilies(read),
    ...diskFamilies(read),
    ...filesystemFamilies(read),
    ...networkFamilies(files),
    ...pressureFamilies(read),
    ...limitFamilies(read),
    ...hostFamilies(read, nowMs),
    ...hardwareFamilies(files),
  ]
}

const singles = (type: MetricFamily['type'], numbers: Numbers): readonly MetricFamily[] =>
  numbers.flatMap(([name, value]) =>
    value === undefined || !Number.isFinite(value)
      ? []
      : [{ name, help: `As node_exporter's ${name}.`, type, samples: [{ value }] }],
  )

const family = (type: MetricFamily['type'], name: string, samples: readonly Sample[]): MetricFamily => ({
  name,
  help: `As node_exporter's ${name}.`,
  type,
  samples,
})

function loadFamilies(read: ReadText): readonly MetricFamily[] {
  const [one, five, fifteen] = (read('/proc/loadavg') ?? '').split(' ').map(Number)
  return singles('gauge', [
    ['node_load1', one],
    ['node_load5', five],
    ['node_load15', fifteen],
  ])
}

/** node_exporter has a separate metric for guest time, which user time includes. */
const CPU_MODES = CPU_STATES.filter((state) => state !== 'guest' && state !== 'guest_nice')

function statFamilies(read: ReadText): readonly MetricFamily[] {
  const text = read('/proc/stat')
  if (text === undefined) return []
  const { cpus, interrupts, forks, running, blocked, switches } = parseProcStat(text)
  const modes = [...cpus].flatMap(([name, ticks]) =>
    name === 'cpu'
      ? []
      : CPU_MODES.map((mode, n) => ({
          labels: { cpu: name.slice('cpu'.length), mode },
          value: (ticks[n] ?? 0) / TICKS_PER_SECOND,
        })),
  )
  return [
    family('counter', 'node_cpu_seconds_total', modes),
    ...singles('counter', [
      ['node_intr_total', interrupts],
      ['node_context_switches_total', switches],
      ['node_forks_total', forks],
    ]),
    ...singles('gauge', [
      ['node_procs_running', running],
      ['node_procs_blocked', blocked],
    ]),
  ]
}

const MEMORY = [
  'MemTotal',
  'MemFree',
  'MemAvailable',
  'Buffers',
  'Cached',
  'Slab',
  'SReclaimable',
  'SwapTotal',
  'SwapFree',
  'Dirty',
  'Writeback',
  'AnonPages',
  'Shmem',
  'Committed_AS',
  'CommitLimit',
  'HugePages_Total',
  'HugePages_Free',
] as const
/** HugePages are a count; the other values are bytes. */
const memoryName = (name: string): string => `node_memory_${name}${name.startsWith('HugePages') ? '' : '_bytes'}`
const VMSTAT = ['pgfault', 'pgmajfault', 'pswpin', 'pswpout', 'oom_kill'] as const

function memoryFamilies(read: ReadText): readonly MetricFamily[] {
  const info = parseMeminfo(read('/proc/meminfo') ?? '')
  const vmstat = new Map(
    (read('/proc/vmstat') ?? '').split('\n').map((line) => {
      const [name = '', value = ''] = line.split(' ')
      return [name, Number(value)] as const
    }),
  )
  return [
    ...singles(
      'gauge',
      MEMORY.map((name) => [memoryName(name), info.get(name)] as const),
    ),
    ...singles(
      'counter',
      VMSTAT.map((name) => [`node_vmstat_${name}`, vmstat.get(name)] as const),
    ),
  ]
}

/** Devices without a medium of their own; node_exporter omits them too. */
const NO_DISK = /^(ram|loop|fd)\d+$/

function diskFamilies(read: ReadText): readonly MetricFamily[] {
  const disks = parseDiskstats(read('/proc/diskstats') ?? '')
    .filter((d) => !NO_DISK.test(d.name))
    .slice(0, MOST_DEVICES)
  const each = (of: (d: (typeof disks)[number]) => number): readonly Sample[] =>
    disks.map((d) => ({ labels: { device: d.name }, value: of(d) }))
  return [
    family(
      'counter',
      'node_disk_reads_completed_total',
      each((d) => d.reads),
    ),
    family(
      'counter',
      'node_disk_writes_completed_total',
      each((d) => d.writes),
    ),
    family(
      'counter',
      'node_disk_read_bytes_total',
      each((d) => d.sectorsRead * SECTOR),
    ),
    family(
      'counter',
      'node_disk_written_bytes_total',
      each((d) => d.sectorsWritten * SECTOR),
    ),
    family(
      'counter',
      'node_disk_read_time_seconds_total',
      each((d) => d.readMs / 1_000),
    ),
    family(
      'counter',
      'node_disk_write_time_seconds_total',
      each((d) => d.writeMs / 1_000),
    ),
    family(
      'counter',
      'node_disk_io_time_seconds_total',
      each((d) => d.ioMs / 1_000),
    ),
    family(
      'counter',
      'node_disk_io_time_weighted_seconds_total',
      each((d) => d.weightedMs / 1_000),
    ),
  ]
}

/** File systems without blocks of their own, and mounts of containers, whose device is counted already. */
const NO_FILESYSTEM =
  /^(autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|fusectl|hugetlbfs|iso9660|mqueue|nsfs|overlay|proc|procfs|pstore|rpc_pipefs|securityfs|selinuxfs|squashfs|sysfs|tracefs)$/
const NO_MOUNT_POINT =
  /^\/(dev|proc|run\/credentials\/.+|sys|var\/lib\/(docker|containers|kubelet|containerd)\/.+)($|\/)/
/** Never read: they may hang while their server is unreachable. */
const NETWORK = /^(nfs4?|cifs|smb3?|ceph|glusterfs|lustre|9p|afs|fuse\..*)$/

function filesystemFamilies(read: ReadText): readonly MetricFamily[] {
  const columns: Readonly<Record<string, Sample[]>> = {
    size_bytes: [],
    free_bytes: [],
    avail_bytes: [],
    files: [],
    files_free: [],
    readonly: [],
  }
  const seen = new Set<string>()
  for (const { source, mountPoint, type, options } of parseMounts(read('/proc/self/mountinfo') ?? '')) {
    if (NO_FILESYSTEM.test(type) || NO_MOUNT_POINT.test(mountPoint) || NETWORK.test(type)) continue
    if (seen.has(mountPoint) || seen.size >= MOST_DEVICES) continue
    seen.add(mountPoint)
    try {
      const { bsize, blocks, bfree, bavail, files, ffree } = statfsSync(mountPoint)
      const labels = { device: source, mountpoint: mountPoint, fstype: type }
      const add = (name: string, value: number): void => void columns[name]?.push({ labels, value })
      add('size_bytes', blocks * bsize)
      add('free_bytes', bfree * bsize)
      add('avail_bytes', bavail * bsize)
      add('files', files)
      add('files_free', ffree)
      add('readonly', options.includes('ro') ? 1 : 0)
    } catch {
      // Unmounted in between.
    }
  }
  return Object.entries(columns).map(([name, samples]) => family('gauge', `node_filesystem_${name}`, samples))
}

/** Column of /proc/net/dev → node_exporter's name. */
const NETWORK_COUNTERS: Readonly<Record<string, string>> = {
  rx_bytes: 'receive_bytes',
  rx_packets: 'receive_packets',
  rx_errors: 'receive_errs',
  rx_dropped: 'receive_drop',
  tx_bytes: 'transmit_bytes',
  tx_packets: 'transmit_packets',
  tx_errors: 'transmit_errs',
  tx_dropped: 'transmit_drop',
}
/** Interfaces of pods: a node with 200 pods would otherwise have 1,600 short-lived series. */
const OF_PODS = /^(veth|cali|lxc|cilium_|nodelocaldns|tunl|azv|eni[0-9a-f]{11})/

function networkFamilies({ read }: HostFiles): readonly MetricFamily[] {
  const devices = [...parseNetDev(read('/proc/net/dev') ?? '')]
    .filter(([name]) => !OF_PODS.test(name))
    .slice(0, MOST_DEVICES)
  const counters = NET_COLUMNS.flatMap((column, n) => {
    const name = NETWORK_COUNTERS[column]
    const samples = devices.map(([device, values]) => ({ labels: { device }, value: values[n] ?? 0 }))
    return name === undefined ? [] : [family('counter', `node_network_${name}_total`, samples)]
  })
  const state = (file: string, value: (text: string) => number): readonly Sample[] =>
    devices.flatMap(([device]) => {
      const text = read(`/sys/class/net/${device}/${file}`)?.trim()
      return text === undefined ? [] : [{ labels: { device }, value: value(text) }]
    })
  return [
    ...counters,
    family(
      'gauge',
      'node_network_up',
      state('operstate', (text) => (text === 'up' ? 1 : 0)),
    ),
    family('counter', 'node_network_carrier_changes_total', state('carrier_changes', Number)),
  ]
}

/** Resource and kind of a pressure file → node_exporter's name. */
const PRESSURE: readonly (readonly [resource: string, kind: 'some' | 'full', name: string])[] = [
  ['cpu', 'some', 'cpu_waiting'],
  ['io', 'some', 'io_waiting'],
  ['io', 'full', 'io_stalled'],
  ['memory', 'some', 'memory_waiting'],
  ['memory', 'full', 'memory_stalled'],
]

const pressureFamilies = (read: ReadText): readonly MetricFamily[] =>
  singles(
    'counter',
    PRESSURE.map(([resource, kind, name]) => {
      const found = parsePressure(read(`/proc/pressure/${resource}`) ?? '').find((p) => p.kind === kind)
      return [`node_pressure_${name}_seconds_total`, found?.seconds] as const
    }),
  )

function limitFamilies(read: ReadText): readonly MetricFamily[] {
  const [open, , most] = (read('/proc/sys/fs/file-nr') ?? '').trim().split(/\s+/).map(Number)
  return singles('gauge', [
    ['node_nf_conntrack_entries', numberIn(read, '/proc/sys/net/netfilter/nf_conntrack_count')],
    ['node_nf_conntrack_entries_limit', numberIn(read, '/proc/sys/net/netfilter/nf_conntrack_max')],
    ['node_filefd_allocated', open],
    ['node_filefd_maximum', most],
    ['node_entropy_available_bits', numberIn(read, '/proc/sys/kernel/random/entropy_avail')],
  ])
}

function hostFamilies(read: ReadText, nowMs: number): readonly MetricFamily[] {
  const boot = /^btime (\d+)$/m.exec(read('/proc/stat') ?? '')?.[1]
  const uname = (file: string): string => (read(`/proc/sys/kernel/${file}`) ?? '').trim()
  const labels = {
    sysname: uname('ostype'),
    release: release(),
    version: uname('version'),
    machine: uname('arch'),
    nodename: uname('hostname'),
    domainname: uname('domainname'),
  }
  return [
    ...singles('gauge', [
      ['node_boot_time_seconds', boot === undefined ? undefined : Number(boot)],
      ['node_time_seconds', nowMs / 1_000],
    ]),
    family('gauge', 'node_uname_info', [{ labels, value: 1 }]),
  ]
}
