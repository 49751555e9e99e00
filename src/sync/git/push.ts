// Pushes one commit that sync or the console made to one branch: from a repository of its own that borrows the copy's objects, and only if the branch
// has not moved.
import { shortCommit } from '#api/protocol/commit-title.ts'
import fs, { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import git from 'isomorphic-git'
import { KubeNodeError } from '#lib/errors.ts'
import { makeOwnedFolder, sweepOwnedFolders } from '#lib/owned-folders.ts'
import { syncErrors } from '../sync-errors.ts'
import type { GitAccess } from './access.ts'
import { makeBare } from './bare.ts'
import { shownCause, withoutSecrets } from './fetch-problem.ts'
import type { LocalRepository } from './local-repository.ts'
import type { GitReach } from './reach.ts'
import type { GitObject } from './objects/object-store.ts'
import type { GitRun } from './run-git.ts'
import { pushCommit } from './server-calls.ts'

export interface Push {
  readonly url: string
  readonly branch: string
  readonly commit: string
  /** Where the branch must be; undefined: it must not exist. */
  readonly expected: string | undefined
  /** By id: objects that the repository does not have. */
  readonly objects: ReadonlyMap<string, GitObject>
  readonly repository: LocalRepository
  readonly access: GitAccess
  /** If the branch is checked out there, its files are updated too, unless a file was edited: then git refuses. */
  readonly movesWorkTree?: boolean
  /** The error when the branch has moved or the server refuses; default: the error of a revert. */
  readonly refused?: (why: string) => KubeNodeError
}

export interface PushPlace {
  readonly cacheDir: string
  readonly env?: Readonly<Record<string, string>>
  readonly deadlineMs?: number
  /** Which servers may be called; default: none on this machine. */
  readonly reach?: GitReach
}

const DEFAULT_DEADLINE_MS = 60_000
/** A commit and a few trees. */
const MAX_BYTES = 64 * 1024 * 1024

export async function push(what: Push, place: PushPlace) {
  const { cacheDir, env = {}, deadlineMs = DEFAULT_DEADLINE_MS, reach = {} } = place
  const { url, branch, commit, expected, objects, repository, access, movesWorkTree = false, refused } = what
  const folders = { parent: cacheDir, prefix: 'push-', maxAgeMs: 2 * deadlineMs }
  mkdirSync(cacheDir, { recursive: true, mode: 0o700 })
  sweepOwnedFolders(folders)
  const dir = makeOwnedFolder(folders)
  const failed = (output: string) => {
    const why = reasonIn(output, access)
    if (refused !== undefined) return refused(why)
    return new KubeNodeError(syncErrors.KN7051({ commit: shortCommit(commit), branch, url, why }), { retry: 'later' })
  }
  const run: GitRun = { url, env, access, reach, deadlineMs, within: { folder: dir, maxBytes: MAX_BYTES }, failed }
  const borrowed = join(repository.folder.commonDir, 'objects')
  try {
    makeBare(dir, [borrowed])
    for (const { type, content } of objects.values())
      await git.writeObject({ fs, gitdir: dir, type, object: content, format: 'content' })
    const settings = movesWorkTree ? ['receive.denyCurrentBranch=updateInstead'] : []
    const ref = `refs/heads/${branch}`
    const folders = [join(dir, 'objects'), borrowed]
    await pushCommit({ run, cacheDir, dir }, { commit, ref, objects: folders, expected, settings })
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** git's last line only reports that the push failed. */
export function reasonIn(output: string, access: GitAccess): string {
  const lines = output.trim().split('\n')
  const rejected = lines.find((line) => /^\s*!\s/.test(line))
  const line =
    rejected?.split(BLANKS).join(' ').replace(RENAME, '') ??
    lines.findLast((l) => /^(remote|fatal): /.test(l)) ??
    lines.at(-1) ??
    ''
  return shownCause(withoutSecrets(line.trim(), access))
}

/** Removes `ID -> BRANCH` from `! [remote rejected] ID -> BRANCH (why)`: the error names both already, and its text is short. */
const RENAME = /(?<![^ ])[0-9a-f]{40,64} -> [^ ]+ /
const BLANKS = /\s+/
