// Where the devices are that pods hold: the bus of each device's PCI address, from its name or from what NVIDIA's program says. A device without a known place
// has none, and its pod then counts as a user of any.
import { defined } from '#lib/defined.ts'
import { pciBus } from '#lib/pci-bus.ts'
import { printableLine } from '#lib/printable.ts'
import { MAX_DEVICE_CHARS, MOST_HELD_DEVICES } from '#api/kinds/remedy-operation-job.ts'
import type { HeldDevice } from './devices-of-pods.ts'

export interface PlacedDevice extends HeldDevice {
  readonly bus?: string
}

/** With the addresses of all GPUs, and with their parts. */
export const PLACES_ARGUMENTS = ['--query-gpu=uuid,pci.bus_id', '--format=csv,noheader'] as const
export const PARTS_ARGUMENTS = ['--list-gpus'] as const

const MOST_LINES = 1_024
const PLACE = /^(GPU-[0-9a-f-]{1,64}), *([0-9A-Fa-f:.]{7,20})$/
const WITH_UUID = /^( *)(?:GPU|MIG) .*\(UUID: ((?:GPU|MIG)-[0-9a-f-]{1,64})\)$/
/** Time slices of a GPU: `GPU-1f2e::3`. */
const SLICE = /::\d+$/

/** The bus of each GPU and each of its MIG parts, by UUID. */
export function gpuBuses(places: string, parts: string): ReadonlyMap<string, string> {
  const buses = new Map<string, string>()
  for (const line of places.split('\n', MOST_LINES)) {
    const [, uuid = '', address = ''] = PLACE.exec(line.trim()) ?? []
    const bus = pciBus(address)
    if (bus !== undefined) buses.set(uuid, bus)
  }
  let card: string | undefined
  for (const line of parts.split('\n', MOST_LINES)) {
    const [, indent, uuid = ''] = WITH_UUID.exec(line.trimEnd()) ?? []
    if (indent === '') card = buses.get(uuid)
    else if (indent === undefined) card = undefined
    else if (card !== undefined) buses.set(uuid, card)
  }
  return buses
}

/** Half of what an agent may send at once: the rest of a result must fit as well. */
const MAX_PLACED_BYTES = 32_768

/** Undefined: too many or too long to be recorded as a whole. */
export function placedDevices(
  held: readonly HeldDevice[],
  buses: ReadonlyMap<string, string>,
): readonly PlacedDevice[] | undefined {
  if (held.length > MOST_HELD_DEVICES) return undefined
  if (held.some(({ resource, device }) => Math.max(resource.length, device.length) > MAX_DEVICE_CHARS)) return undefined
  const placed = held.map(({ pod, resource, device }) => ({
    pod,
    resource: printableLine(resource),
    device: printableLine(device),
    ...defined({ bus: pciBus(device) ?? buses.get(device.replace(SLICE, '')) }),
  }))
  return Buffer.byteLength(JSON.stringify(placed)) > MAX_PLACED_BYTES ? undefined : placed
}
