// Plays a full disk and a wrong clock of one node: the two files that its agent reads instead of the disk and the clock of this machine, and old files to remove.
import { mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MIB } from '#lib/bytes.ts'
import { formatDuration } from '#lib/duration.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { NodeLayout } from '#providers/process/layout.ts'

const FILES = 32
const LEAST_BYTES = 64 * MIB
/** Files younger than a week are not removed. */
const AGE_MS = 8 * 86_400_000
/** Less than a tenth is a fault. */
const FREE_SHARE = 0.05
const AHEAD_MS = 60_000

const fillers = ({ root }: NodeLayout): string => join(root, 'var/tmp/kubenode-local-break')

/** The disk of the node gets as large as all that is on it, and a twentieth more. */
export function fillDisk(node: NodeLayout): string {
  emptyDisk(node)
  const used = bytesBelow(node.root)
  // So that cleaning frees more than the fifth at which it stops.
  const each = Math.ceil(Math.max(LEAST_BYTES, used / 2) / FILES)
  mkdirSync(fillers(node), { recursive: true })
  const old = new Date(systemClock.now() - AGE_MS)
  for (let n = 0; n < FILES; n++) {
    const file = join(fillers(node), `old-${n}`)
    writeFileSync(file, Buffer.alloc(each, '.'))
    utimesSync(file, old, old)
  }
  const size = Math.ceil((used + FILES * each) / (1 - FREE_SHARE))
  writeFileSync(node.playedDisk, `${size}\n`)
  return `the disk of the node has ${Math.round(size / MIB)} MiB and is full: ${FILES} old files are in ${fillers(node)}`
}

export function emptyDisk(node: NodeLayout): string {
  rmSync(node.playedDisk, { force: true })
  rmSync(fillers(node), { recursive: true, force: true })
  return 'the node shows the disk of this machine again, and the old files are removed'
}

export function setClock(node: NodeLayout): string {
  writeFileSync(node.playedClock, `${AHEAD_MS}\n`)
  return `the clock of the node is ${formatDuration(AHEAD_MS)} ahead`
}

export function endClock(node: NodeLayout): string {
  rmSync(node.playedClock, { force: true })
  return 'the clock of the node is that of this machine again'
}

function bytesBelow(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  // A file may be removed meanwhile.
  const blocks = (path: string) => statSync(path, { throwIfNoEntry: false })?.blocks ?? 0
  return entries.reduce((sum, e) => sum + (e.isFile() ? blocks(join(e.parentPath, e.name)) * 512 : 0), 0)
}
