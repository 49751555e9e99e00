// A repository as if the edits in its work tree were committed: for a plan before the commit. Like dirty.ts it does not run git, and follows no link.
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { uncommitted } from './dirty.ts'
import type { LocalRepository } from './local-repository.ts'
import type { GitRepository } from './repository.ts'

/** Of a file of code; a larger one is no edit of a person. */
const MAX_FILE_BYTES = 4 * 1024 * 1024

export const withWorkTree = (repository: LocalRepository): GitRepository => ({
  name: repository.name,
  resolve: (revision) => repository.resolve(revision),
  commit: (id) => repository.commit(id),
  log: (id, limit) => repository.log(id, limit),
  idAt: (commit, path) => repository.idAt(commit, path),
  async readTree(commit, folders, limits) {
    const files = new Map(await repository.readTree(commit, folders, limits))
    const { workTree } = repository.folder
    if (workTree === undefined) return files
    for (const path of await uncommitted(repository, commit, folders)) {
      const bytes = editedFile(join(workTree, path))
      if (bytes === undefined) files.delete(path)
      else files.set(path, bytes)
    }
    return files
  },
})

/** Undefined: deleted, or no regular file, which no commit of a fleet may have. */
function editedFile(path: string): Uint8Array | undefined {
  const info = lstatSync(path, { throwIfNoEntry: false })
  return info?.isFile() === true && info.size <= MAX_FILE_BYTES ? readFileSync(path) : undefined
}
