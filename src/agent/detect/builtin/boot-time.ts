// How long the host took to boot, from the firmware to the last unit that systemd waits for. Pure.
import { formatDuration } from '#lib/duration.ts'
import type { Reading } from './reading.ts'

/** Of systemd itself: microseconds since the kernel started; those of firmware and loader count back from there. */
export const BOOT_ARGUMENTS: readonly string[] = [
  'show',
  '--property=FirmwareTimestampMonotonic,UserspaceTimestampMonotonic,FinishTimestampMonotonic,Virtualization',
]

/** systemd's names for what has no kernel of its own: the kernel of their host started long before they did. */
const CONTAINER =
  /^Virtualization=(?:systemd-nspawn|lxc|lxc-libvirt|openvz|docker|podman|rkt|wsl|proot|pouch|container-other)$/m

export interface BootTime {
  readonly firmwareMs: number
  /** Of a container: how long the kernel ran before it started. */
  readonly beforeMs: number
  /** Undefined: systemd still waits for units. */
  readonly finishedMs: number | undefined
}

const US_PER_MS = 1_000
const MINUTE_MS = 60_000

/** Undefined: the text is no answer of systemd. */
export function bootTime(text: string): BootTime | undefined {
  const ms = (name: string): number | undefined => {
    const [, us] = new RegExp(`^${name}TimestampMonotonic=(\\d{1,15})$`, 'm').exec(text) ?? []
    return us === undefined ? undefined : Number(us) / US_PER_MS
  }
  const finished = ms('Finish')
  if (finished === undefined) return undefined
  const beforeMs = CONTAINER.test(text) ? (ms('Userspace') ?? 0) : 0
  return { firmwareMs: ms('Firmware') ?? 0, beforeMs, finishedMs: finished === 0 ? undefined : finished }
}

/** Whole minutes, so that the message of a boot that is not over changes rarely. */
const minutes = (ms: number): string => formatDuration(Math.floor(ms / MINUTE_MS) * MINUTE_MS)

export function judgeBoot({ firmwareMs, beforeMs, finishedMs }: BootTime, uptimeMs: number, maxMs: number): Reading {
  const type = 'BootSlow'
  const tookMs = firmwareMs + (finishedMs ?? uptimeMs) - beforeMs
  if (tookMs <= maxMs) return { type, status: 'False', reason: 'BootInTime', message: 'the host booted in time' }
  const inFirmware = firmwareMs > maxMs / 2 ? `, ${minutes(firmwareMs)} of it in firmware` : ''
  if (finishedMs !== undefined)
    return { type, status: 'True', reason: type, message: `the boot took ${minutes(tookMs)}${inFirmware}` }
  const message = `the boot is not over after ${minutes(maxMs)}: see systemctl list-jobs`
  return { type, status: 'True', reason: 'BootNotOver', message }
}
