// Titles of commits in the current folder's repository: for a user in a clone of the fleet who cannot reach its hub.
import { isKubeNodeError } from '#lib/errors.ts'
import { openLocalRepository } from './local-repository.ts'
import { titledIn } from './titled-in.ts'

/** Empty where the folder is not in a repository; a commit that it lacks is shown by hash only. */
export async function titlesHere(folder: string, commits: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (commits.length === 0) return new Map()
  try {
    const repository = openLocalRepository(folder, { above: true })
    return new Map(await Promise.all(commits.map(async (c) => [c, await titledIn(repository, c)] as const)))
  } catch (error) {
    if (isKubeNodeError(error)) return new Map()
    throw error
  }
}
