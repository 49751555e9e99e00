// Memory errors as the kernel's EDAC drivers count them, and pages that the kernel gave up. Counters start at boot.
import { counted } from '#lib/counted.ts'
import type { DetectorSettings } from '#api/agent-config/detector-settings.ts'
import { type HostFiles, numberIn, partsIn, wordIn } from '../../metrics/host-files.ts'
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'
import type { Counts } from './growth.ts'

export interface MemoryErrors {
  /** By module, else by controller. */
  readonly corrected: Counts
  readonly uncorrected: Counts
  readonly corruptedKiB: number
}

const CONTROLLERS = '/sys/devices/system/edac/mc'
const HOUR_S = 3_600
const DAYS_OF_DRIP = 3
const DAY_HOURS = 24

export function memoryErrors(host: HostFiles): MemoryErrors {
  const { read, list } = host
  const [corrected, uncorrected] = [new Map<string, number>(), new Map<string, number>()]
  const note = (counts: Map<string, number>, name: string, file: string): void => {
    const count = numberIn(read, file)
    if (count !== undefined) counts.set(name, (counts.get(name) ?? 0) + count)
  }
  for (const controller of partsIn(list, CONTROLLERS, /^mc\d+$/)) {
    const folder = `${CONTROLLERS}/${controller}`
    const modules = partsIn(list, folder, /^(dimm|rank)\d+$/)
    for (const module of modules) {
      const name = wordIn(host, `${folder}/${module}/dimm_label`) || `${controller} ${module}`
      note(corrected, name, `${folder}/${module}/dimm_ce_count`)
      note(uncorrected, name, `${folder}/${module}/dimm_ue_count`)
    }
    // What the driver could not place in a module; without modules, everything.
    const rest = modules.length === 0 ? 'count' : 'noinfo_count'
    note(corrected, controller, `${folder}/ce_${rest}`)
    note(uncorrected, controller, `${folder}/ue_${rest}`)
  }
  const [, corrupted = '0'] = /^HardwareCorrupted:\s+(\d+) kB$/m.exec(read('/proc/meminfo') ?? '') ?? []
  return { corrected, uncorrected, corruptedKiB: Number(corrupted) }
}

export function judgeMemory(
  { corrected, uncorrected, corruptedKiB }: MemoryErrors,
  inLastHour: Counts,
  uptimeS: number,
  { maxCorrectedPerHour, maxCorrectedPerHourForDays }: DetectorSettings['memory'],
): readonly Reading[] {
  const hours = uptimeS / HOUR_S
  // Counted since boot, so that it survives a restart of the agent.
  const drips = (count: number): boolean =>
    hours >= DAYS_OF_DRIP * DAY_HOURS && count / hours > maxCorrectedPerHourForDays
  return [
    readingOf(
      {
        type: 'MemoryFaulty',
        calm: { reason: 'MemoryIsCorrect', message: 'no uncorrectable memory errors since boot' },
      },
      [
        ...[...uncorrected].flatMap(([name, n]) => (n > 0 ? [`${name}: uncorrectable memory errors`] : [])),
        ...(corruptedKiB > 0 ? ['the kernel took corrupted pages out of use'] : []),
      ],
    ),
    readingOf(
      {
        type: 'MemoryDegraded',
        calm: { reason: 'FewCorrectedErrors', message: 'few or no corrected memory errors' },
      },
      [...corrected].flatMap(([name, n]) => {
        if ((inLastHour.get(name) ?? 0) > maxCorrectedPerHour)
          return [`${name}: more than ${counted(maxCorrectedPerHour, 'corrected error')} in an hour`]
        return drips(n) ? [`${name}: more than ${maxCorrectedPerHourForDays} corrected errors an hour for days`] : []
      }),
    ),
  ]
}
