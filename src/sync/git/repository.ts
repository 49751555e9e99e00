// The port through which sync reads git: names to commits, commits to files. Reading never modifies the repository.

export interface Commit {
  readonly id: string
  readonly parents: readonly string[]
  /** Seconds since 1970, from the committer. */
  readonly time: number
  readonly message: string
  readonly author: string
}

export interface ReadLimits {
  readonly maxFiles?: number
  /** Files and folders on all paths. */
  readonly maxEntries?: number
  readonly maxFileBytes?: number
  readonly maxBytes?: number
}

export interface GitRepository {
  /** The path or URL, for messages. */
  readonly name: string
  /** Accepts a branch, tag, commit id (whole or at least seven digits) or HEAD, each also with ~n and ^; throws when it does not exist. */
  resolve(revision: string): Promise<string>
  commit(id: string): Promise<Commit>
  /** The commit and its first parents, newest first. */
  log(id: string, limit: number): Promise<readonly Commit[]>
  /** The id of the tree or file at this path; undefined if the path does not exist. Equal ids mean equal content. */
  idAt(commit: string, path: string): Promise<string | undefined>
  /** All files below these folders by their path from the root. A missing folder has no files. */
  readTree(commit: string, folders: readonly string[], limits?: ReadLimits): Promise<ReadonlyMap<string, Uint8Array>>
}

/** The same repository with changed files: `change` edits the files read from a commit. */
export const withChangedFiles = (
  repository: GitRepository,
  change: (files: Map<string, Uint8Array>, commit: string, folders: readonly string[]) => void | Promise<void>,
): GitRepository => ({
  name: repository.name,
  resolve: (revision) => repository.resolve(revision),
  commit: (id) => repository.commit(id),
  log: (id, limit) => repository.log(id, limit),
  idAt: (commit, path) => repository.idAt(commit, path),
  async readTree(commit, folders, limits) {
    const files = new Map(await repository.readTree(commit, folders, limits))
    await change(files, commit, folders)
    return files
  },
})
