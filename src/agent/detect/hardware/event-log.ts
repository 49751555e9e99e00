// The event log of the host's management controller (SEL), as `ipmitool sel elist` prints it: what happened also while no kernel ran. Pure.
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'

/** The newest entries; a log has room for some thousands. */
const MOST_ENTRIES = 512
export const LOG_ARGUMENTS: readonly string[] = ['-I', 'open', 'sel', 'elist', 'last', String(MOST_ENTRIES)]
export const TIME_ARGUMENTS: readonly string[] = ['-I', 'open', 'sel', 'time', 'get']

/** Names of sensors come from the controller's firmware. */
const MOST_WORDS = 80

type Outcome = 'MemoryFaulty' | 'CPUFaulty' | 'PCIeFaulty' | 'StorageDegraded' | 'HardwareAlarm'

interface Kind {
  readonly type: Outcome
  readonly sensor: RegExp
  readonly event: RegExp
  /** Boot: another boot, or the opposite entry, ends it. Window: such an error often ends the boot itself, so that it counts for a day, until the log is cleared. */
  readonly counts: 'SinceBoot' | 'InWindow'
}

/** Other entries are what a host survives, or what people do: corrected errors, thresholds without harm, power buttons, open chassis. */
const KINDS: readonly Kind[] = [
  {
    type: 'MemoryFaulty',
    sensor: /^Memory\b/,
    event: /^Uncorrectable ECC|^Parity|^Memory Device Disabled/,
    counts: 'InWindow',
  },
  {
    type: 'CPUFaulty',
    sensor: /^Processor\b/,
    event: /^IERR|^(?:SMBIOS )?Uncorrectable|^Machine Check/i,
    counts: 'InWindow',
  },
  { type: 'CPUFaulty', sensor: /^Processor\b/, event: /^FRB[123]\b/, counts: 'SinceBoot' },
  {
    type: 'PCIeFaulty',
    sensor: /^Critical Interrupt\b/,
    event: /^PCI PERR|^PCI SERR|^Bus Fatal Error|^Bus Uncorrectable error/i,
    counts: 'SinceBoot',
  },
  { type: 'StorageDegraded', sensor: /^Drive Slot\b/, event: /^Drive Fault|^Predictive Failure/i, counts: 'SinceBoot' },
  {
    type: 'HardwareAlarm',
    sensor: /^Power (?:Supply|Unit)\b/,
    event: /^Failure detected|^Predictive failure|AC lost|out-of-range/i,
    counts: 'SinceBoot',
  },
  {
    type: 'HardwareAlarm',
    sensor: /^(?:Fan|Temperature|Voltage|Current|Cooling Device)\b/,
    event: /^(?:Upper|Lower) (?:Critical|Non-recoverable) going|^Transition to (?:Critical|Non-recoverable)/i,
    counts: 'SinceBoot',
  },
]

const CALM: Readonly<Record<Outcome, string>> = {
  MemoryFaulty: 'the event log has no lost memory',
  CPUFaulty: 'the event log has no error of a processor',
  PCIeFaulty: 'the event log has no fatal error of a bus',
  StorageDegraded: 'the event log has no fault of a drive',
  HardwareAlarm: 'the event log has no alarm that lasts',
}

interface Entry {
  readonly atMs: number
  readonly sensor: string
  readonly event: string
  readonly isAsserted: boolean
}

const DATE = /^(\d\d)\/(\d\d)\/(\d\d|\d{4})$/
const TIME = /^(\d\d):(\d\d):(\d\d)(?: [A-Z]{1,5})?$/
const CENTURY = 2_000

/** On the clock of the controller, which is right only by chance. Undefined: it had not been set yet. */
function timeOf(date: string, time: string): number | undefined {
  const [, month, day, year] = DATE.exec(date.trim()) ?? []
  const [, hour, minute, second] = TIME.exec(time.trim()) ?? []
  if (year === undefined || hour === undefined) return undefined
  const full = year.length === 2 ? CENTURY + Number(year) : Number(year)
  return Date.UTC(full, Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second))
}

/** `02/20/2026 05:41:32`, or `02/20/26 05:41:32 UTC`. */
export function controllerTime(text: string): number | undefined {
  const line = text.trim()
  const space = line.indexOf(' ')
  return timeOf(line.slice(0, space), line.slice(space + 1))
}

/** `   a | 03/14/2026 | 10:04:19 | Memory DIMM_A1 | Uncorrectable ECC | Asserted`. What it says of an event may contain the sign that divides the columns. */
export function eventsIn(text: string): readonly Entry[] {
  return text
    .split('\n')
    .slice(-MOST_ENTRIES - 1)
    .flatMap((line) => {
      const [, date = '', time = '', sensor = '', ...rest] = line.split('|').map((field) => field.trim())
      const at = timeOf(date, time)
      const end = rest.findIndex((field) => field === 'Asserted' || field === 'Deasserted')
      if (at === undefined || end < 1) return []
      const event = rest.slice(0, end).join(' ').slice(0, MOST_WORDS)
      return [{ atMs: at, sensor: sensor.slice(0, MOST_WORDS), event, isAsserted: rest[end] === 'Asserted' }]
    })
}

export interface LogTimes {
  /** The controller's clock. Only ages count: it and the host's clock may be years apart. */
  readonly nowMs: number
  readonly upMs: number
  readonly windowMs: number
}

export function judgeEventLog(entries: readonly Entry[], { nowMs, upMs, windowMs }: LogTimes): readonly Reading[] {
  /** The last entry of the same sensor and event counts. */
  const last = new Map<string, readonly [Outcome, string] | undefined>()
  for (const { atMs, sensor, event, isAsserted } of entries) {
    const kind = KINDS.find((k) => k.sensor.test(sensor) && k.event.test(event))
    if (kind === undefined) continue
    // Controllers take these back with the next reset; the data stays lost.
    if (kind.counts === 'InWindow' && !isAsserted) continue
    const age = nowMs - atMs
    const most = kind.counts === 'SinceBoot' ? upMs : Math.max(upMs, windowMs)
    const counts = isAsserted && age >= 0 && age <= most
    last.set(`${sensor} ${event}`, counts ? [kind.type, `${sensor}: ${event}`] : undefined)
  }
  const faults = [...last.values()].filter((fault) => fault !== undefined)
  return (Object.keys(CALM) as Outcome[]).map((type) =>
    readingOf(
      { type, calm: { reason: 'NoSuchEvents', message: CALM[type] } },
      faults.flatMap(([of, words]) => (of === type ? [words] : [])),
      'EventLog',
    ),
  )
}
