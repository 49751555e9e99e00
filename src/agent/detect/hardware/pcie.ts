// Errors of PCIe devices as the kernel's AER driver counts them since boot, and links that run with fewer lanes than before.
import { type HostFiles, numberIn, partsIn } from '../../metrics/host-files.ts'
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'
import type { Counts } from './growth.ts'

const DEVICES = '/sys/bus/pci/devices'

export interface PcieDevice {
  readonly name: string
  readonly fatal: number
  readonly lanes: number | undefined
}

export const pcieDevices = ({ read, list }: HostFiles): readonly PcieDevice[] =>
  partsIn(list, DEVICES, /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/).map((name) => {
    const [, fatal = '0'] = /^TOTAL_ERR_FATAL (\d+)$/m.exec(read(`${DEVICES}/${name}/aer_dev_fatal`) ?? '') ?? []
    return { name, fatal: Number(fatal), lanes: numberIn(read, `${DEVICES}/${name}/current_link_width`) }
  })

/** The most lanes that each link has had. A slot with fewer lanes than its card is no fault; losing some is. Speeds fall to save power. */
export const mostLanes = (before: Counts, devices: readonly PcieDevice[]): Counts =>
  new Map(devices.map(({ name, lanes = 0 }) => [name, Math.max(lanes, before.get(name) ?? 0)]))

export function judgePcie(devices: readonly PcieDevice[], most: Counts): readonly Reading[] {
  return [
    readingOf(
      { type: 'PCIeFaulty', calm: { reason: 'LinksWork', message: 'no fatal PCIe errors, no lost lanes' } },
      devices.flatMap(({ name, fatal, lanes }) => {
        if (fatal > 0) return [`${name}: fatal PCIe errors since boot`]
        const had = most.get(name) ?? 0
        return lanes !== undefined && lanes < had ? [`${name}: ${lanes} PCIe lanes instead of ${had}`] : []
      }),
    ),
  ]
}
