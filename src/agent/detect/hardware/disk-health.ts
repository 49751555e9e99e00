// What disks say about themselves: SMART of SATA and SAS, the health log of NVMe, read with smartctl if it is there.
import { isObject } from '#lib/json.ts'
import type { Reading } from '../builtin/reading.ts'
import type { DetectorSettings } from '#api/agent-config/detector-settings.ts'
import { readingOf } from './finding.ts'
import type { Counts } from './growth.ts'
import { type HostFiles, partsIn } from '../../metrics/host-files.ts'

/** A sleeping disk stays asleep, and says nothing until it wakes up. */
export const smartArguments = (device: string): readonly string[] => [
  '--json',
  '--nocheck=standby',
  '--health',
  '--attributes',
  `/dev/${device}`,
]

/** Whole disks with a device behind them. */
export const disks = ({ list }: HostFiles): readonly string[] =>
  partsIn(list, '/sys/block', /^(sd[a-z]{1,3}|nvme\d+n\d+)$/).slice(0, MOST_DISKS)
const MOST_DISKS = 64

export interface DiskHealth {
  readonly device: string
  /** Why the disk reports that it fails; undefined if it does not. */
  readonly failing: string | undefined
  /** Sectors or blocks that it could not read. */
  readonly unreadable: number
  readonly usedPercent: number | undefined
}

/** Bits of smartctl's exit status. */
const FAILING_NOW = 8
const BELOW_THRESHOLD = 16

/** Bits of NVMe's critical warning. */
const NVME_WARNINGS: readonly (readonly [number, string])[] = [
  [4, 'it is no longer reliable'],
  [8, 'it has become read-only'],
  [16, 'its backup of volatile memory failed'],
  [1, 'its spare blocks are used up'],
]
/** Attributes of SATA disks: pending, and uncorrectable when tested offline. */
const UNREADABLE: ReadonlySet<unknown> = new Set([197, 198])

/** Undefined: it said nothing, as a disk without SMART or one that sleeps. */
export function diskHealth(device: string, text: string): DiskHealth | undefined {
  const value = parsed(text)
  if (!isObject(value) || !isObject(value['smartctl'])) return undefined
  const nvme = objectIn(value, 'nvme_smart_health_information_log')
  const status = value['smart_status']
  const hasSaid = isObject(status) && typeof status['passed'] === 'boolean'
  if (!hasSaid && nvme === undefined) return undefined
  return {
    device,
    failing: failingBecause(value, nvme),
    unreadable: nvme === undefined ? pendingSectors(value) : numberOf(nvme['media_errors']),
    usedPercent: nvme === undefined ? undefined : numberOf(nvme['percentage_used']),
  }
}

type Json = Readonly<Record<string, unknown>>

function failingBecause(value: Json, nvme: Json | undefined): string | undefined {
  const warning = numberOf(nvme?.['critical_warning'])
  const why = NVME_WARNINGS.find(([bit]) => hasBit(warning, bit))
  if (why !== undefined) return why[1]
  const status = objectIn(value, 'smart_status')
  const exit = numberOf(objectIn(value, 'smartctl')?.['exit_status'])
  if (status?.['passed'] === false || hasBit(exit, FAILING_NOW)) return 'its own check failed'
  return hasBit(exit, BELOW_THRESHOLD) ? 'an attribute that predicts failure is below its threshold' : undefined
}

function pendingSectors(value: Json): number {
  const table = objectIn(value, 'ata_smart_attributes')?.['table']
  return (Array.isArray(table) ? table : [])
    .filter((row: unknown): row is Json => isObject(row) && UNREADABLE.has(row['id']))
    .reduce((sum, row) => sum + numberOf(objectIn(row, 'raw')?.['value']), 0)
}

const objectIn = (value: Json, key: string): Json | undefined => {
  const inner = value[key]
  return isObject(inner) ? inner : undefined
}
const numberOf = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)
// oxlint-disable-next-line no-bitwise -- the status is a set of bits
const hasBit = (value: number, bit: number): boolean => (value & bit) !== 0

export const unreadableCounts = (all: readonly DiskHealth[]): Counts =>
  new Map(all.map(({ device, unreadable }) => [device, unreadable]))

export function judgeDiskHealth(
  all: readonly DiskHealth[],
  grewBy: Counts,
  { maxUsedPercent }: DetectorSettings['diskHealth'],
): readonly Reading[] {
  return [
    readingOf(
      { type: 'DiskFailing', calm: { reason: 'DisksPass', message: 'no disk reports a failure' } },
      all.flatMap(({ device, failing }) => {
        if (failing !== undefined) return [`${device}: ${failing}`]
        return (grewBy.get(device) ?? 0) > 0 ? [`${device}: more and more of it cannot be read`] : []
      }),
    ),
    readingOf(
      { type: 'DiskWorn', calm: { reason: 'DisksNotWorn', message: 'no disk is near the end of its life' } },
      all.flatMap(({ device, usedPercent = 0 }) =>
        usedPercent >= maxUsedPercent ? [`${device}: ${maxUsedPercent} % or more of its life is used`] : [],
      ),
    ),
  ]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
