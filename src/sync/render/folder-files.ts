// The files of a work tree that fleet code may import: those of a commit that is not made yet.
import { existsSync, lstatSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { SEALED_FILE } from '#api/names.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { syncErrors } from '../sync-errors.ts'

const IMPORTABLE = /\.([cm]?ts|[cm]?js|json)$/

/** Files that code may import, and encrypted Secrets. Other files (the sources of components) are not read. */
export const isOfFleet = (path: string): boolean => IMPORTABLE.test(path) || SEALED_FILE.test(path)

/** The same limit as for a commit: a folder of rules has dozens of files. */
const MAX_FILES = 20_000
const MAX_BYTES = 64 * 1024 * 1024
const MAX_DEPTH = 32

/** Files in these folders, by their path from the root. */
export function folderFiles(root: string, folders: readonly string[]): Record<string, string> {
  const files: Record<string, string> = {}
  let [count, bytes] = [0, 0]
  const add = (path: string) => {
    const { size } = lstatSync(join(root, path))
    bytes += size
    if (++count > MAX_FILES || bytes > MAX_BYTES)
      throw new KubeNodeError(
        syncErrors.KN7114_files({
          where: join(root, path),
          seen: `is beyond ${MAX_FILES} files or ${MAX_BYTES} bytes`,
        }),
      )
    files[path] = readFileSync(join(root, path), 'utf8')
  }
  const visit = (path: string, depth: number): void => {
    for (const entry of readdirSync(join(root, path), { withFileTypes: true })) {
      const below = `${path}/${entry.name}`
      // A link could lead anywhere, so its target is not available to the code.
      if (entry.isDirectory() && entry.name !== 'node_modules' && depth < MAX_DEPTH) visit(below, depth + 1)
      else if (entry.isFile() && isOfFleet(entry.name)) add(below)
    }
  }
  for (const folder of folders)
    if (existsSync(join(root, folder)) && lstatSync(join(root, folder)).isDirectory()) visit(folder, 0)
  return files
}
