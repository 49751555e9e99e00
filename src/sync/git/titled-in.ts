// A commit's title for users: its subject and author, if the repository has the commit.
import { commitText, commitTitle, type CommitTitle } from '#api/protocol/commit-title.ts'
import { isKubeNodeError } from '#lib/errors.ts'
import { Malformed } from '../trust/ssh-wire.ts'
import type { GitRepository } from './repository.ts'

type Commits = Pick<GitRepository, 'commit'>

/** Empty when the commit cannot be read: a shallow clone ends somewhere, and a missing title must not cause a failure. */
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
