// Writes files completely or not at all: a new file beside the old one, synced, renamed over it, and the folder synced.
import { dirname } from 'node:path'
import type { Files, Owner } from './port.ts'

/** Suffix of a file that is being written; after a crash any program may remove it. */
export const PARTIAL = '.partial'

/** A failed write removes its partial file: on a full disk, the remains of a large copy would keep it full. */
export async function orRemoved<T>(files: Files, partial: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (e) {
    await files.remove(partial).catch(() => undefined)
    throw e
  }
}

export async function writeDurably(files: Files, path: string, content: Buffer | string, mode = 0o600): Promise<void> {
  const partial = `${path}${PARTIAL}`
  await makeFolderDurably(files, dirname(path))
  await files.remove(partial)
  await orRemoved(files, partial, async () => {
    const writer = await files.create(partial, mode)
    try {
      await writer.write(Buffer.from(content))
      await writer.sync()
    } finally {
      await writer.close()
    }
    await files.rename(partial, path)
  })
  await files.syncFolder(dirname(path))
}

/** Changes the target of a symbolic link in one step; a reader never observes it half done. */
export async function relink(files: Files, path: string, target: string, owner?: Owner): Promise<void> {
  if ((await files.readLink(path)) === target) {
    // The link may have been created by a process that died before it was durable.
    await files.syncFolder(dirname(path))
    return
  }
  const partial = `${path}${PARTIAL}`
  await makeFolderDurably(files, dirname(path))
  await files.remove(partial)
  // The path may be a mount point, or immutable.
  await orRemoved(files, partial, async () => {
    await files.link(partial, target, owner)
    await files.rename(partial, path)
  })
  await files.syncFolder(dirname(path))
}

export async function removeDurably(files: Files, path: string): Promise<void> {
  if ((await files.stat(path)) === undefined) return
  await files.remove(path)
  await files.syncFolder(dirname(path))
}

/** Each created folder is made durable in its parent. */
export async function makeFolderDurably(files: Files, path: string, mode?: number): Promise<void> {
  const missing: string[] = []
  for (let at = path; (await files.stat(at)) === undefined && at !== dirname(at); at = dirname(at)) missing.unshift(at)
  for (const one of missing) {
    await files.makeFolder(one, mode)
    await files.syncFolder(dirname(one))
  }
}

/** Suffix of a state file that could not be used. */
export const BROKEN = '.broken'

/** State files are small; a larger file was not written by the agent. */
const MAX_STATE_BYTES = 4 * 2 ** 20

/** Undefined when the file is missing, or when `parse` rejects it: a broken state file is set aside, not used. */
export async function readState<T>(
  files: Files,
  path: string,
  parse: (value: unknown) => T | undefined,
): Promise<T | undefined> {
  const bytes = await files.read(path)
  if (bytes === undefined) return undefined
  const parsed = bytes.length > MAX_STATE_BYTES ? undefined : parse(jsonOf(bytes))
  if (parsed !== undefined) return parsed
  await files.rename(path, `${path}${BROKEN}`)
  return undefined
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
