// What a commit of a repository is called for people: its subject and author, as far as the repository has it.
import { commitText, commitTitle, type CommitTitle } from '#api/protocol/commit-title.ts'
import { isKubeNodeError } from '#lib/errors.ts'
import { Malformed } from '../trust/ssh-wire.ts'
import type { GitRepository } from './repository.ts'

type Commits = Pick<GitRepository, 'commit'>

/** Empty where it cannot be read: a shallow clone ends somewhere, and a title is no reason to fail. */
export async function titleIn(repository: Commits, id: string): Promise<CommitTitle> {
  try {
    const { message, author } = await repository.commit(id)
    return commitTitle(message, author)
  } catch (error) {
    if (isKubeNodeError(error) || error instanceof Malformed) return {}
    throw error
  }
}

export const titledIn = async (repository: Commits, id: string): Promise<string> =>
  commitText(id, await titleIn(repository, id))
