// Versions of firmware, and of drivers that bring it, against those that the fleet allows. A part without an entry of its model is not judged.
import { type AllowedFirmware, allowedFirmware, type FirmwareKind } from '#api/agent-config/allowed-firmware.ts'
import { type HostFiles, partsIn, wordIn } from '../../metrics/host-files.ts'
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'

interface Part {
  readonly kind: FirmwareKind
  readonly name: string
  readonly model: string
  readonly version: string
}

const CPU = '/sys/devices/system/cpu/cpu0/microcode/version'
const GPUS = '/proc/driver/nvidia/gpus'

export function firmwareParts(host: HostFiles): readonly Part[] {
  const word = (path: string): string => wordIn(host, path)
  const each = (folder: string, pattern: RegExp, kind: FirmwareKind, model: string, version: string): Part[] =>
    partsIn(host.list, folder, pattern).map((name) => ({
      kind,
      name,
      model: word(`${folder}/${name}/${model}`),
      version: word(`${folder}/${name}/${version}`),
    }))
  const dmi = '/sys/class/dmi/id'
  return [
    { kind: 'bios' as const, name: 'BIOS', model: word(`${dmi}/product_name`), version: word(`${dmi}/bios_version`) },
    ...each('/sys/bus/platform/devices', /^ipmi_bmc/, 'bmc', 'manufacturer_id', 'firmware_revision'),
    { kind: 'microcode' as const, name: 'CPU', model: field(word('/proc/cpuinfo'), 'model name'), version: word(CPU) },
    ...each('/sys/class/nvme', /^nvme\d+$/, 'nvme', 'model', 'firmware_rev'),
    ...each('/sys/class/infiniband', /^[A-Za-z0-9_.-]+$/, 'infiniband', 'board_id', 'fw_ver'),
    ...partsIn(host.list, GPUS, /^[0-9a-f:.]+$/).map((name) => {
      const about = word(`${GPUS}/${name}/information`)
      return { kind: 'gpu' as const, name, model: field(about, 'Model'), version: field(about, 'Video BIOS') }
    }),
    { kind: 'gpu-driver' as const, name: 'driver', model: 'nvidia', version: word('/sys/module/nvidia/version') },
  ].filter(({ version }) => version !== '')
}

/** "Model: 		 NVIDIA A100-SXM4-40GB" */
function field(text: string, name: string): string {
  const line = text.split('\n', MAX_LINES).find((l) => l.startsWith(name))
  return line === undefined ? '' : line.slice(line.indexOf(':') + 1).trim()
}
const MAX_LINES = 64

const isOf = ({ kind, model }: AllowedFirmware, part: Part): boolean =>
  kind === part.kind && (model.endsWith('*') ? part.model.startsWith(model.slice(0, -1)) : part.model === model)

export function judgeFirmware(parts: readonly Part[], allowed: readonly string[]): readonly Reading[] {
  const entries = allowed.flatMap((text) => allowedFirmware(text) ?? [])
  const calm = { reason: 'FirmwareAllowed', message: 'all firmware is of an allowed version' }
  const faults = parts.flatMap((part) => {
    const versions = entries.filter((entry) => isOf(entry, part)).flatMap((entry) => entry.versions)
    if (versions.length === 0 || versions.includes(part.version)) return []
    return [`${part.name} (${part.model}): ${part.kind} ${part.version}, allowed: ${versions.join(', ')}`]
  })
  return [readingOf({ type: 'FirmwareNotAllowed', calm }, faults)]
}
