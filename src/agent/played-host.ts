// The disk and the clock that a node shows which is a folder of another machine, while someone plays a fault of them: two files in the node's own folder. A
// systemd machine, which has the clock of its host, has a file for the clock. A node that is a whole host has none: what these files say is never read there.
import { readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { NodeDir } from './node-dir.ts'
import { findFiles } from './repair/folder-walk.ts'

/** Bytes of the only file system of the node. */
const playedDiskFile = (path: string): string => join(path, 'played-disk')
/** Milliseconds that the clock of the node is ahead. */
const playedClockFile = (path: string): string => join(path, 'played-clock')

/** Where faults of a systemd machine on another host are played: in its memory, so that its next boot ends them. */
export const MACHINE_FAULTS = '/run/kubenode-break'
/** systemd writes there what kind of container it runs in; on a host of its own there is no such file. */
const CONTAINER = '/run/systemd/container'

export interface Space {
  readonly bavail: number
  readonly blocks: number
  readonly bsize: number
  readonly ffree: number
  readonly files: number
}

const BLOCK = 4_096
/** Of a folder that someone filled with more, the rest does not count. */
const LIMITS = { entries: 20_000, depth: 16 }

function playedNumber(file: string): number | undefined {
  const text = textIn(file)
  return text !== undefined && /^-?\d{1,15}$/.test(text) ? Number(text) : undefined
}

function textIn(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1').trim()
  } catch {
    return undefined
  }
}

/** What is free at a path on this machine, which belongs to the node. */
export async function spaceAt(dir: NodeDir, path: string): Promise<Space> {
  const real = await statfs(path)
  const bytes = dir.root === '/' ? 0 : (playedNumber(playedDiskFile(dir.path)) ?? 0)
  if (bytes <= 0) return real
  const used = (await findFiles(dir.root, LIMITS, () => true)).reduce((sum, file) => sum + file.bytes, 0)
  const [blocks, taken] = [Math.floor(bytes / BLOCK), Math.ceil(used / BLOCK)]
  return { bavail: Math.max(0, blocks - taken), blocks, bsize: BLOCK, ffree: 0, files: 0 }
}

/** `system`: where the files of a whole host are. */
export function clockAheadMs({ root, path }: NodeDir, system = '/'): number {
  if (root !== '/') return playedNumber(playedClockFile(path)) ?? 0
  if (textIn(join(system, CONTAINER)) !== 'systemd-nspawn') return 0
  return playedNumber(join(system, MACHINE_FAULTS, 'clock')) ?? 0
}
