// Opens the file that a request names, if allowed: a plain file below the folder, by a plain path. Links are only followed within the folder. Checks the open
// file, not its name, so it cannot be swapped in between.
import { constants, type BigIntStats } from 'node:fs'
import { open, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { join, sep } from 'node:path'

const MAX_PATH_CHARS = 1_024
const MAX_DEPTH = 16
/** Allowed names; hidden files, `..` and other systems' special names are excluded. */
const NAME = /^[A-Za-z0-9_@+~-][A-Za-z0-9._@+~-]{0,254}$/

/** The path's names below the folder; undefined if it is not a served path. */
export function namesIn(url: string): readonly string[] | undefined {
  const [path = ''] = url.split('?')
  if (path.length > MAX_PATH_CHARS || !path.startsWith('/')) return undefined
  const names = decoded(path)?.slice(1).split('/') ?? []
  return names.length > 0 && names.length <= MAX_DEPTH && names.every((n) => NAME.test(n)) ? names : undefined
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

export interface OpenFile {
  readonly handle: FileHandle
  readonly stats: BigIntStats
}

/** The caller closes it. */
export async function openServed(folder: string, names: readonly string[]): Promise<OpenFile | undefined> {
  const path = join(folder, ...names)
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined)
  if (handle === undefined) return undefined
  try {
    const stats = await handle.stat({ bigint: true })
    if (stats.isFile() && (await isBelow(folder, path, handle))) return { handle, stats }
  } catch {
    // Deleted meanwhile.
  }
  await handle.close()
  return undefined
}

async function isBelow(folder: string, path: string, handle: FileHandle): Promise<boolean> {
  const real = process.platform === 'linux' ? await readlink(`/proc/self/fd/${handle.fd}`) : await realpath(path)
  return real.startsWith(`${await realpath(folder)}${sep}`)
}
