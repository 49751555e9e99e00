// What lies below a folder of a stranger's branch: by its name, without following links, which may lead anywhere on this machine, and within bounds.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { syncErrors } from '#sync/sync-errors.ts'

export interface Below {
  /** From the folder, with "/" between its parts. */
  readonly path: string
  /** Neither a link nor a device. */
  readonly isFile: boolean
}

/** As for a commit. */
const MAX_FILES = 20_000
const MAX_DEPTH = 32

/** Everything but folders, and but what others keep in `node_modules`. */
export function below(root: string): readonly Below[] {
  const found: Below[] = []
  const look = (folder: string, depth: number): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (!entry.isDirectory()) found.push({ path, isFile: entry.isFile() })
      else if (entry.name !== 'node_modules' && depth < MAX_DEPTH) look(path, depth + 1)
      if (found.length > MAX_FILES)
        throw new KubeNodeError(syncErrors.KN7006({ where: join(root, path), seen: `is beyond ${MAX_FILES} files` }))
    }
  }
  look('', 0)
  return found
}
