// Tables of the kernel that fill up: connections, processes, open files. Beyond the limit every program of the node fails at once.
import type { DetectorSettings } from '#api/agent-config/detector-settings.ts'
import { type HostFiles, numberIn } from '../../metrics/host-files.ts'
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'

interface Table {
  /** Several tables may have the same condition. */
  readonly type: 'ConntrackFull' | 'ProcessLimitNear' | 'OpenFileLimitNear'
  readonly what: string
  readonly used: number | undefined
  readonly most: number | undefined
}

/** Pods have a limit of their own where the kubelet's `systemReserved` or a slice sets one. "max" is none. */
const SLICES = ['kubepods.slice', 'kubepods', 'kubelet.slice', 'system.slice']

export function kernelTables({ read }: HostFiles): readonly Table[] {
  const number = (path: string) => numberIn(read, `/proc/sys/${path}`)
  const [, threads] = /^\S+ \S+ \S+ \d+\/(\d+) /.exec(read('/proc/loadavg') ?? '') ?? []
  const limits = [number('kernel/pid_max'), number('kernel/threads-max')].filter((n) => n !== undefined)
  const [open, unused, mostFiles] = (read('/proc/sys/fs/file-nr') ?? '').trim().split(/\s+/).map(Number)
  return [
    {
      type: 'ConntrackFull',
      what: 'tracked connections (net.netfilter.nf_conntrack_max)',
      used: number('net/netfilter/nf_conntrack_count'),
      most: number('net/netfilter/nf_conntrack_max'),
    },
    {
      type: 'ProcessLimitNear',
      what: 'processes and threads (kernel.pid_max, kernel.threads-max)',
      used: threads === undefined ? undefined : Number(threads),
      most: limits.length === 0 ? undefined : Math.min(...limits),
    },
    ...SLICES.map((slice) => ({
      type: 'ProcessLimitNear' as const,
      what: `processes of ${slice} (pids.max)`,
      used: numberIn(read, `/sys/fs/cgroup/${slice}/pids.current`),
      most: numberIn(read, `/sys/fs/cgroup/${slice}/pids.max`),
    })),
    {
      type: 'OpenFileLimitNear',
      what: 'open files (fs.file-max)',
      used: open === undefined || unused === undefined ? undefined : open - unused,
      most: mostFiles,
    },
  ]
}

export function judgeTables(
  tables: readonly Table[],
  { maxUsedPercent, hysteresisPercent }: DetectorSettings['kernelLimits'],
  isTrue: (type: string) => boolean,
): readonly Reading[] {
  // A kernel without the table, or without the module.
  const known = tables.flatMap(({ used, most, ...table }) =>
    used === undefined || most === undefined || !(most > 0) ? [] : [{ ...table, used, most }],
  )
  return [...new Set(known.map(({ type }) => type))].map((type): Reading => {
    const limit = isTrue(type) ? maxUsedPercent - hysteresisPercent : maxUsedPercent
    const ofType = known.filter((table) => table.type === type)
    const faults = ofType
      .filter(({ used, most }) => (used / most) * 100 > limit)
      .map(({ what, most }) => `more than ${limit} % of the ${most} ${what} are in use`)
    return readingOf(
      { type, calm: { reason: 'RoomInTheKernel', message: `enough room for ${ofType[0]?.what ?? ''}` } },
      faults,
    )
  })
}
