// Writes that are complete or absent: a new file beside the old one, synced, renamed over it, and the folder synced.
import { dirname } from 'node:path'
import type { Files, Owner } from './port.ts'

/** Suffix of a file being written; after a crash any program may remove it. */
export const PARTIAL = '.partial'

/** What failed leaves nothing beside the path: on a full disk the rest of a large copy would keep it full. */
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

/** Points a symbolic link somewhere else in one step that a reader sees whole. */
export async function relink(files: Files, path: string, target: string, owner?: Owner): Promise<void> {
  if ((await files.readLink(path)) === target) {
    // It may have been created by a process that died before it was durable.
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

/** Each folder that had to be made is entered durably in the one above it. */
export async function makeFolderDurably(files: Files, path: string, mode?: number): Promise<void> {
  const missing: string[] = []
  for (let at = path; (await files.stat(at)) === undefined && at !== dirname(at); at = dirname(at)) missing.unshift(at)
  for (const one of missing) {
    await files.makeFolder(one, mode)
    await files.syncFolder(dirname(one))
  }
}

/** State files are small; a larger one is not ours. */
const MAX_STATE_BYTES = 4 * 2 ** 20

/** Undefined when there is none, or when `parse` rejects it: a broken state file is set aside, not obeyed. */
export async function readState<T>(
  files: Files,
  path: string,
  parse: (value: unknown) => T | undefined,
): Promise<T | undefined> {
  const bytes = await files.read(path)
  if (bytes === undefined) return undefined
  const parsed = bytes.length > MAX_STATE_BYTES ? undefined : parse(jsonOf(bytes))
  if (parsed !== undefined) return parsed
  await files.rename(path, `${path}.broken`)
  return undefined
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
