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
/** In an interface's flags: an administrator set it up, whether or not it has a carrier. */
const IFF_UP = 1

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const SECOND_MS = 1_000

export interface Links {
  /** `mlx5_0/1` or `eth0` → whether it is up. Interfaces that were set down on purpose are left out. */
  readonly up: ReadonlyMap<string, boolean>
  /** `mlx5_0/1 link_downed` → count since the driver was loaded. */
  readonly counts: Counts
  /** Bonds with members that are down. */
  readonly bonds: readonly string[]
  /** InfiniBand ports and whole bonds: going down is a fault by itself. An Ethernet port of its own may be unplugged on purpose. */
  readonly mustStayUp: ReadonlySet<string>
  /** Largest packet by interface. */
  readonly mtus: Counts
}

/** What the links had before: only what they had can be lost. */
export interface LinksBefore {
  readonly up: ReadonlySet<string>
  readonly mtus: Counts
}

export const NO_LINKS: LinksBefore = { up: new Set(), mtus: new Map() }

export function links(host: HostFiles): Links {
  const up = new Map<string, boolean>()
  const [counts, mtus] = [new Map<string, number>(), new Map<string, number>()]
  const mustStayUp = new Set<string>()
  const note = (link: string, counter: string, path: string): void => {
    const count = numberIn(host.read, path)
    if (count !== undefined) counts.set(`${link} ${counter}`, count)
  }
  for (const device of partsIn(host.list, IB, NAME))
    for (const port of partsIn(host.list, `${IB}/${device}/ports`, /^\d+$/)) {
      const folder = `${IB}/${device}/ports/${port}`
      mustStayUp.add(`${device}/${port}`)
      up.set(`${device}/${port}`, ACTIVE.test(wordIn(host, `${folder}/state`)))
      for (const counter of COUNTERS) note(`${device}/${port}`, counter, `${folder}/counters/${counter}`)
    }
  const interfaces = partsIn(host.list, NET, NAME)
  const isSetUp = (name: string): boolean => {
    // oxlint-disable-next-line no-bitwise -- flags are a set of bits
    return ((numberIn(host.read, `${NET}/${name}/flags`) ?? 0) & IFF_UP) !== 0
  }
  // By this folder, not by their members: a bond that lost all of them is the worst case.
  const bonds = interfaces.filter((n) => host.list(`${NET}/${n}/bonding`).length > 0 && isSetUp(n))
  for (const bond of bonds) mustStayUp.add(bond)
  // Only ports with a device behind them, and bonds of them: those of containers come and go.
  for (const name of interfaces.filter((n) => mustStayUp.has(n) || host.list(`${NET}/${n}/device`).length > 0)) {
    const mtu = numberIn(host.read, `${NET}/${name}/mtu`)
    if (mtu !== undefined) mtus.set(name, mtu)
    if (isSetUp(name)) up.set(name, wordIn(host, `${NET}/${name}/carrier`) === '1')
    note(name, CARRIER, `${NET}/${name}/carrier_changes`)
    note(name, CRC, `${NET}/${name}/statistics/rx_crc_errors`)
  }
  return { up, counts, bonds: bonds.flatMap((bond) => brokenBond(host, bond)), mustStayUp, mtus }
}

const membersOf = (host: HostFiles, bond: string): readonly string[] =>
  wordIn(host, `${NET}/${bond}/bonding/slaves`)
    .split(/\s+/)
    .filter((m) => NAME.test(m))

function brokenBond(host: HostFiles, bond: string): readonly string[] {
  const down = membersOf(host, bond).filter((m) => wordIn(host, `${NET}/${m}/bonding_slave/mii_status`) === 'down')
  return down.length > 0 ? [`${bond}: runs without ${down.join(', ')}`] : []
}

/** For the next look. */
export const linksBefore = (before: LinksBefore, { up, mtus }: Links): LinksBefore => ({
  up: new Set([...before.up, ...[...up].flatMap(([name, isUp]) => (isUp ? [name] : []))]),
  mtus: new Map([...mtus].map(([name, mtu]) => [name, Math.max(mtu, before.mtus.get(name) ?? 0)])),
})

export function judgeLinks(
  { up, bonds, mustStayUp, mtus }: Links,
  before: LinksBefore,
  inWindow: Counts,
  settings: DetectorSettings['links'],
): readonly Reading[] {
  const grew = (link: string, counter: string): number => inWindow.get(`${link} ${counter}`) ?? 0
  const perWindow = (most: number, each: number): number => (most * settings.windowMs) / each
  const fatal: string[] = []
  const degraded: string[] = [...bonds, ...lostMtus(mtus, before.mtus)]
  for (const [link, isUp] of up) {
    const why = FATAL.find((counter) => grew(link, counter) > 0)
    if (mustStayUp.has(link) && !isUp && before.up.has(link)) fatal.push(`${link}: down, and was up`)
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

/** Larger packets are lost on the way, and only those: connections open and then hang. */
const lostMtus = (mtus: Counts, most: Counts): readonly string[] =>
  [...mtus].flatMap(([link, mtu]) => {
    const had = most.get(link) ?? 0
    return mtu < had ? [`${link}: MTU ${mtu} instead of ${had}`] : []
  })
