// A repository view with these edits applied.
import { type GitRepository, withChangedFiles } from '#sync/git/repository.ts'
import type { Edit } from './edit.ts'

export const withEdits = (repository: GitRepository, edits: readonly Edit[]): GitRepository =>
  withChangedFiles(repository, (files, _commit, folders) => {
    for (const { path, after } of edits)
      if (folders.some((f) => path.startsWith(`${f}/`))) files.set(path, Buffer.from(after))
  })
