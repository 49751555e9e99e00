// Detects file systems that became read-only: stopped by the kernel (`emergency_ro`, `shutdown`), writable earlier, or required to be writable.
import type { Reading } from './reading.ts'

export interface Mount {
  /** Device number: one device can be mounted in many places and under many names. */
  readonly device: string
  readonly source: string
  readonly mountPoint: string
  readonly type: string
  readonly options: readonly string[]
  readonly superOptions: readonly string[]
}

/** Other types are read-only by design, or not on this machine. */
const WRITABLE_TYPES = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'f2fs', 'bcachefs', 'vfat', 'jfs', 'reiserfs'])
const MAX_MOUNTS = 4_096

const unescaped = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))

/** The text of /proc/…/mountinfo. */
export function parseMounts(text: string): readonly Mount[] {
  return text.split('\n', MAX_MOUNTS).flatMap((line): Mount[] => {
    const [left = '', right] = line.split(' - ', 2)
    const [, , device, , mountPoint, options = ''] = left.split(' ')
    const [type, source = '', superOptions] = right?.split(' ') ?? []
    if (device === undefined || mountPoint === undefined || type === undefined || superOptions === undefined) return []
    const both = { options: options.split(','), superOptions: superOptions.split(',') }
    return [{ device, source, mountPoint: unescaped(mountPoint), type, ...both }]
  })
}

const STOPPED = ['emergency_ro', 'shutdown']

/** Devices that a previous agent reported as read-only, from its condition. */
export const namedBefore = (mounts: readonly Mount[], message: string): ReadonlySet<string> =>
  new Set(mounts.filter((m) => message.includes(`${m.mountPoint} (${m.type})`)).map((m) => m.device))

export interface ReadOnlyReading {
  readonly reading: Reading
  /** Devices that were writable earlier in this boot. */
  readonly writable: ReadonlySet<string>
}

export function judgeReadOnly(
  mounts: readonly Mount[],
  writable: ReadonlySet<string>,
  mustWrite: readonly string[],
): ReadOnlyReading {
  const seen = new Set<string>()
  const bad = new Map<string, string>()
  for (const { device, mountPoint, type, superOptions } of mounts) {
    if (!WRITABLE_TYPES.has(type)) continue
    const stopped = STOPPED.find((o) => superOptions.includes(o))
    const isReadOnly = superOptions.includes('ro')
    if (!isReadOnly) seen.add(device)
    else if (writable.has(device)) seen.add(device)
    const why =
      stopped ?? (isReadOnly && (writable.has(device) || mustWrite.includes(mountPoint)) ? 'read-only' : undefined)
    // One file system can be mounted in many places.
    if (why !== undefined && !bad.has(device)) bad.set(device, `${mountPoint} (${type}) is ${why}`)
  }
  const type = 'FilesystemReadOnly'
  const reading: Reading =
    bad.size === 0
      ? { type, status: 'False', reason: 'FilesystemsWritable', message: 'all file systems are writable' }
      : { type, status: 'True', reason: 'FilesystemReadOnly', message: [...bad.values()].join('; ') }
  return { reading, writable: seen }
}
