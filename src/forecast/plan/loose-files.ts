// Notes that uncommitted edits are not part of the output: the user asked for a commit but may look for an edit.
import { counted } from '#lib/counted.ts'
import { uncommitted } from '#sync/git/dirty.ts'
import type { LocalRepository } from '#sync/git/local-repository.ts'
import type { Io } from '#lib/terminal/io.ts'

export async function noteLooseFiles(
  repository: LocalRepository,
  { commit, path }: { readonly commit: string; readonly path: string },
  io: Io,
): Promise<void> {
  const folders = ['fleet', 'rules'].map((folder) => (path === '.' ? folder : `${path}/${folder}`))
  const loose = await uncommitted(repository, commit, folders)
  if (loose.length === 0) return
  io.err(
    `note: ${counted(loose.length, 'changed file')} under fleet/ and rules/ not committed, and not shown; kubenode plan --dirty shows the edits too\n`,
  )
}
