// Network links: InfiniBand ports, Ethernet ports and bonds. A port that was never up since the agent started is not cabled, which is no fault.
import type { DetectorSettings } from '#api/agent-config/detector-settings.ts'
import { type HostFiles, numberIn, partsIn, wordIn } from '../../metrics/host-files.ts'
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'
import type { Counts } from './growth.ts'

const IB = '/sys/class/infiniband'
const NET = '/sys/class/net'
const NAME = /^[A-Za-z0-9_.-]+$/
const ACTIVE = /^4:/

/** Each of them ends jobs that use the port. */
const FATAL = ['link_downed', 'local_link_integrity_errors', 'excessive_buffer_overrun_errors'] as const
const SYMBOL_ERRORS = 'symbol_error'
const RECOVERIES = 'link_error_recovery'
const RECEIVE_ERRORS = 'port_rcv_errors'
const COUNTERS = [...FATAL, SYMBOL_ERRORS, RECOVERIES, RECEIVE_ERRORS] as const
const CARRIER = 'carrier_changes'
const CRC = 'rx_crc_errors'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const SECOND_MS = 1_000

export interface Links {
  /** `mlx5_0/1` or `eth0` → whether it is up. */
  readonly up: ReadonlyMap<string, boolean>
  /** `mlx5_0/1 link_downed` → count since the driver was loaded. */
  readonly counts: Counts
  /** Bonds with members that are down. */
  readonly bonds: readonly string[]
}

export function links(host: HostFiles): Links {
  const up = new Map<string, boolean>()
  const counts = new Map<string, number>()
  const note = (link: string, counter: string, path: string): void => {
    const count = numberIn(host.read, path)
    if (count !== undefined) counts.set(`${link} ${counter}`, count)
  }
  for (const device of partsIn(host.list, IB, NAME))
    for (const port of partsIn(host.list, `${IB}/${device}/ports`, /^\d+$/)) {
      const folder = `${IB}/${device}/ports/${port}`
      up.set(`${device}/${port}`, ACTIVE.test(wordIn(host, `${folder}/state`)))
      for (const counter of COUNTERS) note(`${device}/${port}`, counter, `${folder}/counters/${counter}`)
    }
  const interfaces = partsIn(host.list, NET, NAME)
  // Only ports with a device behind them: those of containers come and go.
  for (const name of interfaces.filter((n) => host.list(`${NET}/${n}/device`).length > 0)) {
    up.set(name, wordIn(host, `${NET}/${name}/carrier`) === '1')
    note(name, CARRIER, `${NET}/${name}/carrier_changes`)
    note(name, CRC, `${NET}/${name}/statistics/rx_crc_errors`)
  }
  return { up, counts, bonds: interfaces.flatMap((bond) => brokenBond(host, bond)) }
}

function brokenBond(host: HostFiles, bond: string): readonly string[] {
  const members = wordIn(host, `${NET}/${bond}/bonding/slaves`)
    .split(/\s+/)
    .filter((m) => NAME.test(m))
  const down = members.filter((m) => wordIn(host, `${NET}/${m}/bonding_slave/mii_status`) === 'down')
  return down.length > 0 ? [`${bond}: runs without ${down.join(', ')}`] : []
}

/** Those that have been up, for the next look. */
export const everUp = (before: ReadonlySet<string>, { up }: Links): ReadonlySet<string> =>
  new Set([...before, ...[...up].flatMap(([name, isUp]) => (isUp ? [name] : []))])

export function judgeLinks(
  { up, bonds }: Links,
  hadBeenUp: ReadonlySet<string>,
  inWindow: Counts,
  settings: DetectorSettings['links'],
): readonly Reading[] {
  const grew = (link: string, counter: string): number => inWindow.get(`${link} ${counter}`) ?? 0
  const perWindow = (most: number, each: number): number => (most * settings.windowMs) / each
  const fatal: string[] = []
  const degraded: string[] = [...bonds]
  for (const [link, isUp] of up) {
    const why = FATAL.find((counter) => grew(link, counter) > 0)
    const isInfiniband = link.includes('/')
    if (isInfiniband && !isUp && hadBeenUp.has(link)) fatal.push(`${link}: down, and was up`)
    else if (why !== undefined) fatal.push(`${link}: ${why} grew`)
    else if (grew(link, SYMBOL_ERRORS) > perWindow(settings.maxSymbolErrorsPerHour, HOUR_MS))
      fatal.push(`${link}: more than ${settings.maxSymbolErrorsPerHour} symbol errors an hour`)
    else if (grew(link, RECOVERIES) > perWindow(settings.maxRecoveriesPerMinute, MINUTE_MS))
      degraded.push(`${link}: recovers more than ${settings.maxRecoveriesPerMinute} times a minute`)
    else if (grew(link, RECEIVE_ERRORS) > perWindow(settings.maxReceiveErrorsPerSecond, SECOND_MS))
      degraded.push(`${link}: more than ${settings.maxReceiveErrorsPerSecond} receive errors a second`)
    else if (grew(link, CARRIER) > settings.maxCarrierChanges)
      degraded.push(`${link}: went up and down more than ${settings.maxCarrierChanges} times`)
    else if (grew(link, CRC) > settings.maxCrcErrors)
      degraded.push(`${link}: more than ${settings.maxCrcErrors} frames with wrong checksums`)
  }
  return [
    readingOf({ type: 'LinkFaulty', calm: { reason: 'LinksWork', message: 'all links work' } }, fatal),
    readingOf({ type: 'LinkDegraded', calm: { reason: 'LinksWork', message: 'all links work well' } }, degraded),
  ]
}
