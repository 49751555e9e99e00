// File systems that do not answer: a network file system whose server is away, a disk that hangs. Asked by a program of its own, since the call never returns.
import type { Mount } from '../builtin/read-only.ts'
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'

/** Others are in memory, or the kernel's own. */
const OF_NETWORK: ReadonlySet<string> = new Set(['nfs', 'nfs4', 'cifs', 'ceph', 'glusterfs', 'fuse.glusterfs', '9p'])
const OF_DISK: ReadonlySet<string> = new Set(['ext3', 'ext4', 'xfs', 'btrfs'])
const MOST_MOUNTS = 128

/** One mount point for each device: if one does not answer, no other does. */
export function mountsToAsk(mounts: readonly Mount[]): readonly string[] {
  const points = new Map<string, string>()
  for (const { device, mountPoint, type } of mounts)
    if ((OF_NETWORK.has(type) || OF_DISK.has(type)) && !points.has(device)) points.set(device, mountPoint)
  return [...points.values()].slice(0, MOST_MOUNTS)
}

/** Asks one file system; resolves when it answers, and with the reason if it cannot say. */
export type AskMount = (point: string) => Promise<void>

/** One question for each mount at a time: the program of a hung one cannot be ended. */
export class MountQuestions {
  readonly #ask: AskMount
  readonly #asked = new Map<string, number>()

  constructor(ask: AskMount) {
    this.#ask = ask
  }

  /** Those that have not answered for `afterMs`. */
  look(points: readonly string[], nowMs: number, afterMs: number): readonly string[] {
    for (const point of points) {
      if (this.#asked.has(point)) continue
      this.#asked.set(point, nowMs)
      void this.#ask(point).finally(() => this.#asked.delete(point))
    }
    return [...this.#asked].filter(([, since]) => nowMs - since >= afterMs).map(([point]) => point)
  }
}

export const judgeMounts = (silent: readonly string[]): readonly Reading[] => [
  readingOf(
    { type: 'FilesystemStalled', calm: { reason: 'FilesystemsAnswer', message: 'all file systems answer' } },
    silent.map((point) => `${point} does not answer`),
  ),
]
