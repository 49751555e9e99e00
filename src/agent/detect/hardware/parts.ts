// Parts of the host against what the machines of its class have: GPUs that the PCI bus does not show, links that never came up, disks that are not there.
import { type PartCounts, type PartKind, partsOfClass } from '#api/agent-config/class-parts.ts'
import { type HostFiles, partsIn, wordIn } from '../../metrics/host-files.ts'
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'

const PCI = '/sys/bus/pci/devices'
const ADDRESS = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/
const NAME = /^[A-Za-z0-9_.-]+$/
const NVIDIA = '0x10de'
/** NVIDIA, AMD, Intel, Habana. FPGAs have the class of accelerators too, and other vendors. */
const GPU_VENDORS: ReadonlySet<string> = new Set([NVIDIA, '0x1002', '0x8086', '0x1da3'])
/** 3D controller, other display controller, processing accelerator. A plain display (0x0300) may be the processor's own, so it counts for NVIDIA only. */
const GPU_CLASS = /^0x(?:0302|0380|1200)/
const DISPLAY_CLASS = /^0x0300/
const IB = '/sys/class/infiniband'
const NET = '/sys/class/net'
const NVME = '/sys/class/nvme'

interface Found {
  readonly count: number
  /** Those that are there and do not work. */
  readonly down: readonly string[]
}

/** A function of a card that was split for guests is no part of its own. */
const isVirtual = (host: HostFiles, device: string): boolean => host.list(`${device}/physfn`).length > 0

const found = (all: readonly { readonly name: string; readonly works: boolean }[]): Found => ({
  count: all.filter(({ works }) => works).length,
  down: all.flatMap(({ name, works }) => (works ? [] : [name])),
})

/** `answering`: how many NVIDIA GPUs their driver lists; undefined if it could not be asked. */
function gpus(host: HostFiles, answering: number | undefined): Found {
  const vendors = partsIn(host.list, PCI, ADDRESS).flatMap((address) => {
    const device = `${PCI}/${address}`
    const [kind, vendor] = [wordIn(host, `${device}/class`), wordIn(host, `${device}/vendor`)]
    const isGpu = GPU_VENDORS.has(vendor) && GPU_CLASS.test(kind)
    const isDisplay = vendor === NVIDIA && DISPLAY_CLASS.test(kind)
    return (isGpu || isDisplay) && !isVirtual(host, device) ? [vendor] : []
  })
  const ofNvidia = vendors.filter((vendor) => vendor === NVIDIA).length
  const silent = Math.max(0, ofNvidia - (answering ?? ofNvidia))
  return { count: vendors.length - silent, down: silent > 0 ? [`${silent} do not answer their driver`] : [] }
}

const ports = (host: HostFiles): Found =>
  found(
    partsIn(host.list, IB, NAME)
      .filter((card) => !isVirtual(host, `${IB}/${card}/device`))
      .flatMap((card) =>
        partsIn(host.list, `${IB}/${card}/ports`, /^\d+$/).map((port) => ({
          name: `${card}/${port}`,
          works: wordIn(host, `${IB}/${card}/ports/${port}/state`).startsWith('4:'),
        })),
      ),
  )

const interfaces = (host: HostFiles): Found =>
  found(
    partsIn(host.list, NET, NAME)
      .filter((name) => host.list(`${NET}/${name}/device`).length > 0 && !isVirtual(host, `${NET}/${name}/device`))
      .map((name) => ({ name, works: wordIn(host, `${NET}/${name}/carrier`) === '1' })),
  )

/** Local ones: those over a network come and go with volumes. */
const disks = (host: HostFiles): Found =>
  found(
    partsIn(host.list, NVME, /^nvme\d+$/)
      .filter((name) => ['', 'pcie'].includes(wordIn(host, `${NVME}/${name}/transport`)))
      .map((name) => ({ name, works: ['', 'live'].includes(wordIn(host, `${NVME}/${name}/state`)) })),
  )

const WORDS: Readonly<Record<PartKind, string>> = {
  gpu: 'GPUs',
  infiniband: 'InfiniBand ports up',
  network: 'network ports up',
  nvme: 'NVMe disks',
}

/** What the host lacks, in words that stay the same while it does. */
export function lackingParts(wanted: PartCounts, host: HostFiles, answering: number | undefined): readonly string[] {
  const look: Readonly<Record<PartKind, () => Found>> = {
    gpu: () => gpus(host, answering),
    infiniband: () => ports(host),
    network: () => interfaces(host),
    nvme: () => disks(host),
  }
  return [...wanted].flatMap(([kind, most]) => {
    const { count, down } = look[kind]()
    if (count >= most) return []
    return [`${count} of ${most} ${WORDS[kind]}${down.length > 0 ? ` (not: ${down.join(', ')})` : ''}`]
  })
}

const TYPE = 'PartsMissing'

/** For how long parts were missing without a pause, and what that means now. */
export interface PartsLook {
  readonly missingSinceMs: number | undefined
  readonly readings: readonly Reading[]
}

export interface PartsAsked {
  readonly expected: readonly string[]
  /** Empty: the machine has none. Undefined: not known yet. */
  readonly machineClass: string | undefined
  readonly nowMs: number
  /** Links come up some time after the host. */
  readonly afterMs: number
  readonly lacking: (wanted: PartCounts) => readonly string[]
}

/** As long as the class is unknown, nothing is said: neither a fault, nor the end of one. */
export function judgeParts(before: PartsLook, asked: PartsAsked): PartsLook {
  const { expected, machineClass, nowMs, afterMs } = asked
  const calm = { type: TYPE, status: 'False' } as const
  if (expected.length === 0)
    return none([{ ...calm, reason: 'NothingExpected', message: 'the configuration of the agents lists no parts' }])
  if (machineClass === undefined) return none([])
  const wanted = machineClass === '' ? undefined : partsOfClass(expected, machineClass)
  if (wanted === undefined)
    return none([{ ...calm, reason: 'NothingExpected', message: 'no parts are listed for the class of this machine' }])
  const lacks = asked.lacking(wanted)
  if (lacks.length === 0)
    return none([{ ...calm, reason: 'PartsThere', message: `all parts of class ${machineClass} are there` }])
  const missingSinceMs = before.missingSinceMs ?? nowMs
  const isOver = nowMs - missingSinceMs >= afterMs
  const noted = { type: TYPE, calm: { reason: 'PartsThere', message: '' } }
  return { missingSinceMs, readings: isOver ? [readingOf(noted, lacks)] : [] }
}

const none = (readings: readonly Reading[]): PartsLook => ({ missingSinceMs: undefined, readings })
