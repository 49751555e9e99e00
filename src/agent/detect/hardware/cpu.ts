// Processors that slow themselves down because they are too hot.
import type { DetectorSettings } from '#api/agent-config/detector-settings.ts'
import { type HostFiles, numberIn, partsIn } from '../../metrics/host-files.ts'
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'
import type { Counts } from './growth.ts'

const CPUS = '/sys/devices/system/cpu'
const MINUTE_MS = 60_000

/** By package: its threads share the counter. */
export function throttleCounts({ read, list }: HostFiles): Counts {
  return new Map(
    partsIn(list, CPUS, /^cpu\d+$/).flatMap((cpu): [string, number][] => {
      const count = numberIn(read, `${CPUS}/${cpu}/thermal_throttle/package_throttle_count`)
      const number = numberIn(read, `${CPUS}/${cpu}/topology/physical_package_id`) ?? 0
      return count === undefined ? [] : [[`package ${number}`, count]]
    }),
  )
}

export function judgeThrottling(
  inWindow: Counts,
  { windowMs, maxPerMinute }: DetectorSettings['throttling'],
): readonly Reading[] {
  const most = (maxPerMinute * windowMs) / MINUTE_MS
  const hot = [...inWindow].filter(([, n]) => n > most)
  return [
    readingOf(
      { type: 'CPUThrottled', calm: { reason: 'NotThrottled', message: 'no processor is throttled for heat' } },
      hot.map(([name]) => `${name}: throttled for heat more than ${maxPerMinute} times a minute`),
    ),
  ]
}
