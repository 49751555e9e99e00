// Walks and removes below a folder through open descriptors, one name at a time: no link is followed, even if folders are swapped meanwhile. Linux
// exposes open folders under /proc/self/fd, which replaces openat and unlinkat here.
import { setImmediate } from 'node:timers/promises'
import { closeSync, constants, lstatSync, openSync, opendirSync, unlinkSync, type Stats } from 'node:fs'

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

export interface FoundFile {
  /** Names below the root; the file's own name is last. */
  readonly names: readonly string[]
  readonly device: number
  readonly inode: number
  readonly modifiedMs: number
  readonly bytes: number
}

const inFolder = (fd: number, name: string): string => `/proc/self/fd/${fd}/${name}`

/** Undefined when one of them is no longer a folder. The caller closes it. */
function openFolder(root: string, names: readonly string[]): number | undefined {
  let fd: number | undefined
  try {
    fd = openSync(root, FOLDER)
    for (const name of names) {
      const next = openSync(inFolder(fd, name), FOLDER)
      closeSync(fd)
      fd = next
    }
    return fd
  } catch {
    if (fd !== undefined) closeSync(fd)
    return undefined
  }
}

export interface WalkLimits {
  readonly entries: number
  readonly depth: number
}

/** Yields after this many entries: leases must be renewed during a long walk. */
const TURN = 500

/** Regular files on the root's own file system that match `wanted`. */
export async function findFiles(
  root: string,
  limits: WalkLimits,
  wanted: (stat: Stats) => boolean,
): Promise<readonly FoundFile[]> {
  const found: FoundFile[] = []
  let seen = 0
  let device: number | undefined
  const visit = async (names: readonly string[]): Promise<void> => {
    const fd = openFolder(root, names)
    if (fd === undefined) return
    try {
      const own = lstatSync(`/proc/self/fd/${fd}/.`).dev
      device ??= own
      // Another file system has its own space, and is mounted there for its own reasons.
      if (own !== device) return
      const folder = opendirSync(`/proc/self/fd/${fd}`)
      try {
        for (let entry = folder.readSync(); entry !== null && seen < limits.entries; entry = folder.readSync()) {
          if (++seen % TURN === 0) await setImmediate()
          const stat = lstatSync(inFolder(fd, entry.name), { throwIfNoEntry: false })
          if (stat === undefined) continue
          if (stat.isDirectory() && names.length < limits.depth) await visit([...names, entry.name])
          else if (stat.isFile() && stat.dev === device && wanted(stat))
            found.push({
              names: [...names, entry.name],
              device: stat.dev,
              inode: stat.ino,
              modifiedMs: stat.mtimeMs,
              bytes: stat.blocks * 512,
            })
        }
      } finally {
        folder.closeSync()
      }
    } finally {
      closeSync(fd)
    }
  }
  await visit([])
  return found
}

/** Returns false when the file was replaced meanwhile. */
export function removeFound(root: string, file: FoundFile): boolean {
  const fd = openFolder(root, file.names.slice(0, -1))
  if (fd === undefined) return false
  try {
    const path = inFolder(fd, file.names.at(-1) ?? '')
    const stat = lstatSync(path, { throwIfNoEntry: false })
    const isSame =
      stat?.isFile() === true && stat.ino === file.inode && stat.dev === file.device && stat.mtimeMs === file.modifiedMs
    if (isSame) unlinkSync(path)
    return isSame
  } catch {
    return false
  } finally {
    closeSync(fd)
  }
}
