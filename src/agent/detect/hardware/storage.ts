// Arrays with missing disks, devices with lost paths, and ext4 file systems in which the kernel found errors.
import { counted } from '#lib/counted.ts'
import { type HostFiles, numberIn, partsIn, wordIn } from '../../metrics/host-files.ts'
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'

const BLOCK = '/sys/block'
const EXT4 = '/sys/fs/ext4'

export function judgeStorage(host: HostFiles): readonly Reading[] {
  return [
    readingOf(
      { type: 'StorageDegraded', calm: { reason: 'DisksAndPathsThere', message: 'no array or path is degraded' } },
      [...arrays(host), ...multipaths(host)],
    ),
    readingOf(
      { type: 'FilesystemErrors', calm: { reason: 'NoErrorsFound', message: 'the kernel found no errors in ext4' } },
      partsIn(host.list, EXT4, /^[A-Za-z0-9._-]+$/).flatMap((device) => {
        const found = numberIn(host.read, `${EXT4}/${device}/errors_count`) ?? 0
        return found > 0 ? [`${device}: the kernel found errors in its ext4; check it with fsck`] : []
      }),
    ),
  ]
}

/** A RAID that rebuilds is degraded until it is done. */
const arrays = ({ read, list }: HostFiles): readonly string[] =>
  partsIn(list, BLOCK, /^md\w+$/).flatMap((device) => {
    const missing = numberIn(read, `${BLOCK}/${device}/md/degraded`) ?? 0
    return missing > 0 ? [`${device}: ${counted(missing, 'disk')} of the array missing or rebuilding`] : []
  })

const multipaths = (host: HostFiles): readonly string[] =>
  partsIn(host.list, BLOCK, /^dm-\d+$/).flatMap((device) => {
    if (!wordIn(host, `${BLOCK}/${device}/dm/uuid`).startsWith('mpath-')) return []
    const paths = partsIn(host.list, `${BLOCK}/${device}/slaves`, /^\w+$/)
    const lost = paths.filter((path) => wordIn(host, `${BLOCK}/${path}/device/state`) !== 'running')
    const name = wordIn(host, `${BLOCK}/${device}/dm/name`) || device
    return lost.length > 0 ? [`${name}: ${lost.length} of ${paths.length} paths lost`] : []
  })
