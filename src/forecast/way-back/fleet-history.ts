// A fleet's branch, and a copy of its repository for trying reverts. Only reads the repository itself.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { SAFE_SETTINGS } from '#sync/git/safe-settings.ts'

const run = promisify(execFile)
/** Limit of searched commits: each may have to be rendered. */
const MOST_COMMITS = 50
const DEADLINE_MS = 60_000
const MAX_OUTPUT = 16 * 1024 * 1024

export interface BranchCommit {
  readonly id: string
  readonly isMerge: boolean
}

/** A commit that exists only in the copy. */
export interface Trial {
  readonly commit: string
  readonly folder: string
}

export interface FleetHistory {
  /** First-parent commits of the branch, newest first; merged commits are part of their merge. */
  readonly commits: readonly BranchCommit[]
  /** Undefined if git cannot revert these in sequence. */
  revert(commits: readonly BranchCommit[]): Promise<Trial | undefined>
  /** Restores the files that these commits changed to their content in another commit. */
  restore(commits: readonly BranchCommit[], as: string): Promise<Trial | undefined>
  /** From the newest commit to the trial. */
  patchOf(trial: Trial): Promise<string>
  close(): Promise<void>
}

/** Configured programs, signatures and user names must not affect a trial. */
const PLAIN = [...SAFE_SETTINGS, '-c', 'user.name=kubenode', '-c', 'user.email=kubenode@localhost']

export async function openFleetHistory(folder: string, env: Readonly<Record<string, string>>): Promise<FleetHistory> {
  const git = async (cwd: string, ...args: readonly string[]): Promise<string> =>
    (await run('git', [...PLAIN, ...args], { cwd, env, timeout: DEADLINE_MS, maxBuffer: MAX_OUTPUT })).stdout
  const log = await git(folder, 'log', '--first-parent', `--max-count=${MOST_COMMITS}`, '--format=%H %P', 'HEAD')
  const commits = log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [id = '', ...parents] = line.trim().split(' ')
      return { id, isMerge: parents.length > 1 }
    })
  const head = commits[0]?.id ?? 'HEAD'
  const scratch = await mkdtemp(join(tmpdir(), 'kubenode-revert-'))
  let copy: Promise<string> | undefined
  const copied = (): Promise<string> => {
    copy ??= git(folder, 'clone', '--quiet', '--no-checkout', '.', join(scratch, 'fleet')).then(() =>
      join(scratch, 'fleet'),
    )
    return copy
  }
  const fromHead = async (): Promise<string> => {
    const at = await copied()
    await git(at, 'checkout', '--quiet', '--force', '--detach', head)
    await git(at, 'clean', '--quiet', '-fd')
    return at
  }
  const trialIn = async (at: string): Promise<Trial> => ({
    folder: at,
    commit: (await git(at, 'rev-parse', 'HEAD')).trim(),
  })
  return {
    commits,
    revert: async (wanted) => {
      const at = await fromHead()
      for (const { id, isMerge } of wanted)
        try {
          await git(at, 'revert', '--no-edit', ...(isMerge ? ['-m', '1'] : []), id)
        } catch {
          // A conflict, or nothing left to revert: this series does not work.
          await git(at, 'reset', '--quiet', '--hard', head)
          return undefined
        }
      return trialIn(at)
    },
    restore: async (wanted, as) => {
      const at = await fromHead()
      const changed = await Promise.all(
        wanted.map(({ id }) => git(at, 'diff', '--no-ext-diff', '--name-only', '-z', '--no-renames', `${id}^1`, id)),
      )
      const paths = [...new Set(changed.flatMap((text) => text.split('\0').filter((path) => path !== '')))]
      if (paths.length === 0) return undefined
      const there = new Set((await git(at, 'ls-tree', '-r', '-z', '--name-only', as)).split('\0'))
      const [kept, removed] = [paths.filter((p) => there.has(p)), paths.filter((p) => !there.has(p))]
      if (kept.length > 0) await git(at, 'checkout', '--quiet', as, '--', ...kept)
      if (removed.length > 0) await git(at, 'rm', '--quiet', '--ignore-unmatch', '--', ...removed)
      await git(at, 'commit', '--quiet', '--allow-empty', '--message', 'restored')
      return trialIn(at)
    },
    patchOf: ({ commit, folder: at }) =>
      git(at, 'diff', '--binary', '--no-renames', '--no-ext-diff', '--no-textconv', head, commit),
    close: () => rm(scratch, { recursive: true, force: true }),
  }
}
