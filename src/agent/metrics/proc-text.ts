// Pure: parses text files of /proc into numbers.

const fieldsOf = (line: string): readonly string[] => line.trim().split(/\s+/)

/** "MemTotal:  16 kB" → bytes by name. */
export const parseMeminfo = (text: string): ReadonlyMap<string, number> =>
  new Map(
    text.split('\n').flatMap((line): [string, number][] => {
      const match = /^([^:]+):\s+(\d+)( kB)?$/.exec(line)
      return match === null ? [] : [[match[1] ?? '', Number(match[2]) * (match[3] === undefined ? 1 : 1_024)]]
    }),
  )

export const CPU_STATES = [
  'user',
  'nice',
  'system',
  'idle',
  'iowait',
  'irq',
  'softirq',
  'steal',
  'guest',
  'guest_nice',
] as const

export interface ProcStat {
  /** "cpu" is the sum; ticks in the order of CPU_STATES. */
  readonly cpus: ReadonlyMap<string, readonly number[]>
  readonly interrupts: number
  readonly forks: number
  readonly switches: number
  readonly running: number
  readonly blocked: number
}

export function parseProcStat(text: string): ProcStat {
  const cpus = new Map<string, readonly number[]>()
  const first = new Map<string, number>()
  for (const line of text.split('\n')) {
    // The interrupts line has thousands of numbers: only the first one counts.
    const [name = '', value = ''] = line.split(' ', 2)
    if (name.startsWith('cpu')) cpus.set(name, fieldsOf(line).slice(1).map(Number))
    else if (name !== '') first.set(name, Number(value))
  }
  const of = (name: string): number => first.get(name) ?? 0
  const [interrupts, forks, switches] = [of('intr'), of('processes'), of('ctxt')]
  return { cpus, interrupts, forks, switches, running: of('procs_running'), blocked: of('procs_blocked') }
}

export interface DiskStat {
  readonly name: string
  readonly reads: number
  readonly readsMerged: number
  readonly sectorsRead: number
  readonly readMs: number
  readonly writes: number
  readonly writesMerged: number
  readonly sectorsWritten: number
  readonly writeMs: number
  readonly ioMs: number
  readonly weightedMs: number
}

export const parseDiskstats = (text: string): readonly DiskStat[] =>
  text.split('\n').flatMap((line): DiskStat[] => {
    const [, , name, ...rest] = fieldsOf(line)
    const n = rest.map(Number)
    if (name === undefined || n.length < 11) return []
    const [reads = 0, readsMerged = 0, sectorsRead = 0, readMs = 0, writes = 0, writesMerged = 0] = n
    const [, , , , , , sectorsWritten = 0, writeMs = 0, , ioMs = 0, weightedMs = 0] = n
    return [
      {
        name,
        reads,
        readsMerged,
        sectorsRead,
        readMs,
        writes,
        writesMerged,
        sectorsWritten,
        writeMs,
        ioMs,
        weightedMs,
      },
    ]
  })

/** In the order of the columns of /proc/net/dev, under node-problem-detector's names. */
export const NET_COLUMNS = [
  'rx_bytes',
  'rx_packets',
  'rx_errors',
  'rx_dropped',
  'rx_fifo',
  'rx_frame',
  'rx_compressed',
  'rx_multicast',
  'tx_bytes',
  'tx_packets',
  'tx_errors',
  'tx_dropped',
  'tx_fifo',
  'tx_collisions',
  'tx_carrier',
  'tx_compressed',
] as const

export const parseNetDev = (text: string): ReadonlyMap<string, readonly number[]> =>
  new Map(
    text.split('\n').flatMap((line): [string, readonly number[]][] => {
      const at = line.indexOf(':')
      return at === -1 ? [] : [[line.slice(0, at).trim(), fieldsOf(line.slice(at + 1)).map(Number)]]
    }),
  )

export interface Pressure {
  /** Some tasks wait, or all of them. */
  readonly kind: 'some' | 'full'
  readonly seconds: number
}

export const parsePressure = (text: string): readonly Pressure[] =>
  [...text.matchAll(/^(some|full) .*total=(\d+)$/gm)].map(([, kind, micros]) => ({
    kind: kind === 'full' ? 'full' : 'some',
    seconds: Number(micros) / 1e6,
  }))
