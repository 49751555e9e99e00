// A repository as if these edits were committed.
import type { LocalRepository } from '#sync/git/local-repository.ts'
import type { GitRepository } from '#sync/git/repository.ts'
import type { Edit } from './edits.ts'

export const withEdits = (repository: LocalRepository, edits: readonly Edit[]): GitRepository => ({
  name: repository.name,
  resolve: (revision) => repository.resolve(revision),
  commit: (id) => repository.commit(id),
  log: (id, limit) => repository.log(id, limit),
  idAt: (commit, path) => repository.idAt(commit, path),
  async readTree(commit, folders, limits) {
    const files = new Map(await repository.readTree(commit, folders, limits))
    for (const { path, after } of edits)
      if (folders.some((f) => path.startsWith(`${f}/`))) files.set(path, Buffer.from(after))
    return files
  },
})
