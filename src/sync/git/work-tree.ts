// A repository as if the edits in its work tree were committed: for a plan before the commit. Like dirty.ts, it does not run git and follows no links.
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { uncommitted } from './dirty.ts'
import type { LocalRepository } from './local-repository.ts'
import { type GitRepository, withChangedFiles } from './repository.ts'

/** Size limit of a code file; a larger one is not a manual edit. */
const MAX_FILE_BYTES = 4 * 1024 * 1024

export const withWorkTree = (repository: LocalRepository): GitRepository =>
  withChangedFiles(repository, async (files, commit, folders) => {
    const { workTree } = repository.folder
    if (workTree === undefined) return
    for (const path of await uncommitted(repository, commit, folders)) {
      const bytes = editedFile(join(workTree, path))
      if (bytes === undefined) files.delete(path)
      else files.set(path, bytes)
    }
  })

/** Undefined: deleted, or not a regular file, which a fleet commit may not contain. */
function editedFile(path: string): Uint8Array | undefined {
  const info = lstatSync(path, { throwIfNoEntry: false })
  return info?.isFile() === true && info.size <= MAX_FILE_BYTES ? readFileSync(path) : undefined
}
