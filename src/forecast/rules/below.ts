// Lists the content of an untrusted branch's folder by name, within limits and without following links, which may lead anywhere on this machine.
import { join } from 'node:path'
import { entriesBelow } from '#lib/entries-below.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { syncErrors } from '#sync/sync-errors.ts'

export interface Below {
  /** Relative to the folder, with "/" as the separator. */
  readonly path: string
  /** Neither a link nor a device. */
  readonly isFile: boolean
}

/** Same limit as for a commit. */
const MAX_FILES = 20_000
const MAX_DEPTH = 32

/** All entries except folders and `node_modules`. */
export function below(root: string): readonly Below[] {
  const found: Below[] = []
  const mayEnter = (path: string): boolean => {
    const parts = path.split('/')
    return parts.at(-1) !== 'node_modules' && parts.length <= MAX_DEPTH
  }
  for (const { path, kind } of entriesBelow(root, mayEnter)) {
    if (kind !== 'Folder') found.push({ path, isFile: kind === 'File' })
    if (found.length > MAX_FILES)
      throw new KubeNodeError(
        syncErrors.KN7114_files({ where: join(root, path), seen: `is beyond ${MAX_FILES} files` }),
      )
  }
  return found
}
