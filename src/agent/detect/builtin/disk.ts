// Detects disks that fill up, by bytes and by inodes. A true condition stays until there is clearly more free space.
import type { DetectorSettings } from '#api/agent-config/detector-settings.ts'
import type { Reading } from './reading.ts'

export interface DiskRoom {
  readonly path: string
  readonly freePercent: number
  /** Undefined where the file system has no inodes. */
  readonly freeInodesPercent: number | undefined
}

export function diskRoom(
  path: string,
  stat: { readonly blocks: number; readonly bavail: number; readonly files: number; readonly ffree: number },
): DiskRoom {
  return {
    path,
    freePercent: stat.blocks === 0 ? 100 : (stat.bavail / stat.blocks) * 100,
    freeInodesPercent: stat.files === 0 ? undefined : (stat.ffree / stat.files) * 100,
  }
}

export function judgeDisks(
  rooms: readonly DiskRoom[],
  { minFreePercent, minFreeInodesPercent, hysteresisPercent }: DetectorSettings['disk'],
  isTrue: (type: string) => boolean,
): readonly Reading[] {
  const judge = (type: string, min: number, of: (room: DiskRoom) => number | undefined, what: string): Reading => {
    const limit = isTrue(type) ? min + hysteresisPercent : min
    const low = rooms.filter((room) => (of(room) ?? 100) < limit)
    return low.length === 0
      ? { type, status: 'False', reason: 'EnoughRoom', message: `enough free ${what}` }
      : {
          type,
          status: 'True',
          reason: type,
          message: low.map((r) => `${r.path}: ${(of(r) ?? 0).toFixed(0)} % of ${what} are free`).join('; '),
        }
  }
  return [
    judge('DiskSpaceLow', minFreePercent, (r) => r.freePercent, 'bytes'),
    judge('InodesLow', minFreeInodesPercent, (r) => r.freeInodesPercent, 'inodes'),
  ]
}
