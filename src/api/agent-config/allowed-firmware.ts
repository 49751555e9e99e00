// Which versions of firmware a fleet allows: `nvme SAMSUNG MZQL2*=GDC5602Q|GDC5902Q`, the kind of part, its model (a trailing `*` matches any rest) and versions.

export const FIRMWARE_KINDS = ['bios', 'bmc', 'microcode', 'nvme', 'infiniband', 'gpu', 'gpu-driver'] as const
export type FirmwareKind = (typeof FIRMWARE_KINDS)[number]

export interface AllowedFirmware {
  readonly kind: FirmwareKind
  readonly model: string
  readonly versions: readonly string[]
}

const MAX_TEXT = 512

/** Undefined: the text is no such entry. */
export function allowedFirmware(text: string): AllowedFirmware | undefined {
  const [space, equals] = [text.indexOf(' '), text.lastIndexOf('=')]
  const kind = FIRMWARE_KINDS.find((k) => k === text.slice(0, space))
  const model = text.slice(space + 1, equals).trim()
  const versions = text.slice(equals + 1).split('|')
  const isUsable = text.length <= MAX_TEXT && equals > space && model !== '' && versions.every((v) => v.trim() !== '')
  if (kind === undefined || !isUsable) return undefined
  return { kind, model, versions: versions.map((v) => v.trim()) }
}
