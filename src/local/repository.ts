// The git repository that the local fleet follows: a clone of the commit that is checked out here, in which a newcomer may commit freely.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { MACHINES_MADE } from './driver.ts'
import { lastLine } from './last-line.ts'
import { localErrors } from './local-errors.ts'
import { someOf } from '#lib/some-of.ts'

const run = promisify(execFile)

export const BRANCH = 'main'
/** How many nodes each cluster of the shipped fleet has; `--nodes` commits a change of it. */
const SIZE_FILE = 'fleet/clusters/size.json'

const GIT_TIMEOUT_MS = 60_000

/** Always passed to git: none of the user's hooks, and a name for commits when the user has none. */
async function git(cwd: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run('git', ['-c', 'core.hooksPath=/dev/null', ...args], {
      cwd,
      timeout: GIT_TIMEOUT_MS,
      maxBuffer: 16 * 1024 * 1024,
    })
    return stdout.trim()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    // The same error for a program that is not there and for a folder that it was to run in.
    const what = existsSync(cwd) ? localErrors.KN1208() : localErrors.KN1222({ folder: cwd })
    throw new KubeNodeError(what, { cause })
  }
}

/** Before anything is written: without git there is no fleet to follow. */
export const requireGit = async (): Promise<void> => void (await git('/', ['--version']))

export interface Repository {
  readonly commit: string
  /** Set when the checkout has changes under fleet/ or rules/ that no commit holds: they are not used. */
  readonly notice?: string
}

async function head(source: string): Promise<string> {
  try {
    return await git(source, ['rev-parse', '--verify', 'HEAD^{commit}'])
  } catch (cause) {
    if (cause instanceof KubeNodeError) throw cause
    throw new KubeNodeError(localErrors.KN1209({ source, why: lastLine(cause) }), { cause })
  }
}

/** Clones under another name and renames at the end: an interrupted clone or a full disk leaves no repository that looks complete. */
async function cloneOf(source: string, target: string): Promise<void> {
  const commit = await head(source)
  const partial = `${target}.partial`
  rmSync(partial, { recursive: true, force: true })
  try {
    // Copied: a hard link to an object of the checkout would keep the checkout's mode, which other users may read.
    await git(source, [
      'clone',
      '--quiet',
      '--no-hardlinks',
      '--no-tags',
      '--no-checkout',
      '--single-branch',
      source,
      partial,
    ])
    await git(partial, ['checkout', '--quiet', '-B', BRANCH, commit])
    await git(partial, ['remote', 'remove', 'origin'])
    // Sync reads this repository itself, so there is nowhere to push to; `git revert … && git push`, as statuses advise it, must not end in an error.
    await git(partial, ['config', `branch.${BRANCH}.remote`, '.'])
    await git(partial, ['config', `branch.${BRANCH}.merge`, `refs/heads/${BRANCH}`])
    renameSync(partial, target)
  } catch (cause) {
    rmSync(partial, { recursive: true, force: true })
    if (cause instanceof KubeNodeError) throw cause
    throw new KubeNodeError(localErrors.KN1220({ source, target, why: lastLine(cause) }), { cause })
  }
}

/** Makes the clone once; afterwards it belongs to the newcomer, and only its newest commit is reported. */
export async function provideRepository(source: string, target: string, signal?: AbortSignal): Promise<Repository> {
  if (!existsSync(join(target, '.git'))) await cloneOf(source, target)
  signal?.throwIfAborted()
  await nameForCommits(target)
  signal?.throwIfAborted()
  const dirty = [...(await uncommitted(source)), ...(await uncommitted(target))]
  const notice = dirty.length === 0 ? undefined : `uncommitted changes are ignored: ${someOf(dirty, 3)}`
  return { commit: await head(target), ...(notice === undefined ? {} : { notice }) }
}

/** Files of the fleet that no commit holds as they are. */
async function uncommitted(folder: string): Promise<readonly string[]> {
  const said = await git(folder, ['status', '--porcelain', '--', 'fleet', 'rules'])
  return said
    .split('\n')
    .filter(Boolean)
    .map((line) => join(folder, line.trim().split(' ').at(-1) ?? ''))
}

/** What a branch is at, as long as git keeps it in a file of its own; asked twice a second, so without a process. */
function loose(target: string): string | undefined {
  try {
    const [, ref] = /^ref: (refs\/heads\/\S+)\n$/.exec(readFileSync(join(target, '.git/HEAD'), 'utf8')) ?? []
    const commit = ref === undefined ? '' : readFileSync(join(target, '.git', ref), 'utf8').trim()
    return /^[0-9a-f]{40,64}$/.test(commit) ? commit : undefined
  } catch {
    return undefined
  }
}

/** The commit that the fleet should be at. */
export const newestCommit = async (target: string): Promise<string> => loose(target) ?? head(target)

/**
 * The files below fleet/ of one commit, whatever the working tree holds; `target` is replaced. Read within the bounds that sync has for a commit, which
 * `git archive` knows none of, and without the attributes, filters and programs that a repository may name.
 */
export async function exportCommit(repository: string, commit: string, target: string): Promise<void> {
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  const { files, executable } = await openLocalRepository(repository).readFiles(commit, ['fleet'])
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(target, path)), { recursive: true })
    writeFileSync(join(target, path), bytes, { mode: executable.has(path) ? 0o700 : 0o600, flag: 'wx' })
  }
}

/** Commits in the clone must not fail for want of a name. */
async function nameForCommits(target: string): Promise<void> {
  for (const [key, value] of [
    ['user.name', 'local fleet'],
    ['user.email', 'fleet@localhost'],
  ] as const) {
    const known = await git(target, ['config', key]).catch(() => '')
    if (known === '') await git(target, ['config', key, value])
  }
}

const HOSTS_FILE = 'fleet/clusters/hosts.json'

/** Systemd machines in place of demo workers, by a commit. `nodes` undefined: as many as were asked for before, or a few. */
export async function commitMachines(target: string, nodes?: number): Promise<void> {
  const path = join(target, HOSTS_FILE)
  const before = JSON.parse(readFileSync(path, 'utf8')) as { readonly made?: number }
  const made = nodes ?? (before.made === undefined || before.made === 0 ? MACHINES_MADE : before.made)
  if (before.made === made) return
  writeFileSync(path, `${JSON.stringify({ ...before, made }, null, 2)}\n`)
  writeFileSync(join(target, SIZE_FILE), `${JSON.stringify(sizesWith(target, 0), null, 2)}\n`)
  const subject = `fleet: ${made} systemd machines a cluster`
  await git(target, ['commit', '--quiet', '-m', subject, '--', HOSTS_FILE, SIZE_FILE])
}

/** Changes how many nodes each cluster has, the way everything is changed: by a commit. */
export async function commitSize(target: string, nodes: number): Promise<void> {
  const path = join(target, SIZE_FILE)
  const text = `${JSON.stringify(sizesWith(target, nodes), null, 2)}\n`
  if (readFileSync(path, 'utf8') === text) return
  writeFileSync(path, text)
  await git(target, ['commit', '--quiet', '-m', `fleet: ${nodes} nodes a cluster`, '--', SIZE_FILE])
}

/** Every cluster with the same number. */
function sizesWith(target: string, nodes: number): Readonly<Record<string, number>> {
  const before: unknown = JSON.parse(readFileSync(join(target, SIZE_FILE), 'utf8'))
  return Object.fromEntries(Object.keys(isObject(before) ? before : {}).map((cluster) => [cluster, nodes]))
}
