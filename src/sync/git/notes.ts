// Writes the note of one commit to refs/notes/kubenode of a repository, on top of the existing notes. sync writes notes and never reads them.
import { shortCommit } from '#api/protocol/commit-title.ts'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { makeOwnedFolder, sweepOwnedFolders } from '#lib/owned-folders.ts'
import { syncErrors } from '../sync-errors.ts'
import type { GitAccess } from './access.ts'
import { keysIn, withAccess } from './access-env.ts'
import type { LocalRepository } from './local-repository.ts'
import { makeBare } from './bare.ts'
import { reasonIn, type PushPlace } from './push.ts'
import { runGit, type GitRun } from './run-git.ts'
import { hasGit, localProgram } from './server-calls.ts'

export interface Note {
  readonly url: string
  readonly commit: string
  readonly text: string
  readonly repository: LocalRepository
  readonly access: GitAccess
}

const NOTES_REF = 'refs/notes/kubenode'
const DEFAULT_DEADLINE_MS = 60_000
/** The notes tree and texts, without history: a few kilobytes per release. */
const MAX_BYTES = 256 * 1024 * 1024
const IDENTITY = ['-c', 'user.name=KubeNode sync', '-c', 'user.email=sync@kubenode.io']

/** Throws KN7051 when the server refuses, or another client wrote notes at the same time. */
export async function writeNote(
  { url, commit, text, repository, access }: Note,
  { cacheDir, env = {}, deadlineMs = DEFAULT_DEADLINE_MS, reach = {} }: PushPlace,
): Promise<void> {
  const folders = { parent: cacheDir, prefix: 'note-', maxAgeMs: 2 * deadlineMs }
  mkdirSync(cacheDir, { recursive: true, mode: 0o700 })
  sweepOwnedFolders(folders)
  const dir = makeOwnedFolder(folders)
  const failed = (output: string) =>
    new KubeNodeError(syncErrors.KN7051_note({ commit: shortCommit(commit), url, why: reasonIn(output, access) }), {
      retry: 'later',
    })
  const run: GitRun = { url, env, access, reach, deadlineMs, within: { folder: dir, maxBytes: MAX_BYTES }, failed }
  const git = (args: readonly string[], given = env) => runGit([`--git-dir=${dir}`, ...args], { ...run, env: given })
  try {
    if (!hasGit(env)) throw failed('only the program git writes notes, and this machine has none on the PATH')
    makeBare(dir, [join(repository.folder.commonDir, 'objects')])
    const file = join(dir, 'note')
    writeFileSync(file, text, { mode: 0o600 })
    await withAccess({ access, url, reach, env, keys: keysIn(cacheDir, deadlineMs) }, async (given) => {
      const known = await git(['ls-remote', ...localProgram(url, 'upload-pack'), '--', url, NOTES_REF], given)
      const [tip = ''] = /^[0-9a-f]{40}(?=\s)/.exec(known) ?? []
      if (tip !== '') {
        const spec = `+${NOTES_REF}:${NOTES_REF}`
        await git(
          ['fetch', '--quiet', '--no-tags', '--depth=1', ...localProgram(url, 'upload-pack'), '--', url, spec],
          given,
        )
      }
      await git([...IDENTITY, 'notes', `--ref=${NOTES_REF}`, 'add', '-f', '-F', file, commit], given)
      const lease = `--force-with-lease=${NOTES_REF}:${tip}`
      const args = ['push', '--quiet', '--no-verify', ...localProgram(url, 'receive-pack'), lease, '--', url]
      await git([...args, `${NOTES_REF}:${NOTES_REF}`], given)
    })
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
