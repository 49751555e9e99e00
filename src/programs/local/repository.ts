// The git repository that the local fleet follows: the user's own, in place, or one made for the demo that newcomers may commit to.
import { titledIn } from '#sync/git/titled-in.ts'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { DEMO_BRANCH, demoCommits, importStream } from './demo-repository.ts'
import { MACHINES_MADE } from './driver.ts'
import { fastImport, git } from './git-run.ts'
import { lastLine } from '#lib/last-line.ts'
import type { Layout } from './layout.ts'
import { localErrors } from './local-errors.ts'
import { someOf } from '#lib/some-of.ts'

/** Node count of each demo cluster; `--nodes` commits a change to it. */
const CLUSTERS_FILE = 'fleet/clusters/clusters.json'

/** Runs before anything is written: without git there is no fleet to follow. */
export const requireGit = async (): Promise<void> => void (await git('/', ['--version']))

/** Notice about uncommitted changes, which the fleet does not use; undefined if there are none. */
export async function uncommittedNotice(folder: string): Promise<string | undefined> {
  const output = await git(folder, ['status', '--porcelain', '--', 'fleet', 'rules'])
  const dirty = output
    .split('\n')
    .filter(Boolean)
    .map((line) => join(folder, line.trim().split(' ').at(-1) ?? ''))
  return dirty.length === 0 ? undefined : `uncommitted changes are ignored: ${someOf(dirty, 3)}`
}

/**
 * Creates the demo repository once; from then on it belongs to the user. Builds it under another name and renames it last, so that an interrupted start or a
 * full disk never leaves a repository that looks complete.
 */
export async function provideDemo(root: string, target: string, now: number, signal?: AbortSignal): Promise<void> {
  if (!existsSync(join(target, '.git'))) await makeDemo(root, target, now)
  signal?.throwIfAborted()
  await nameForCommits(target)
}

async function makeDemo(root: string, target: string, now: number): Promise<void> {
  const stream = importStream(demoCommits(root), now)
  const partial = `${target}.partial`
  rmSync(partial, { recursive: true, force: true })
  try {
    mkdirSync(partial, { recursive: true })
    await git(partial, ['-c', 'init.templateDir=', 'init', '--quiet', '-b', DEMO_BRANCH])
    await fastImport(partial, stream)
    await git(partial, ['reset', '--quiet', '--hard', DEMO_BRANCH])
    // Sync reads this repository directly, so there is no real remote. The advice in statuses, `git revert … && git push`, must still work.
    await git(partial, ['config', `branch.${DEMO_BRANCH}.remote`, '.'])
    await git(partial, ['config', `branch.${DEMO_BRANCH}.merge`, `refs/heads/${DEMO_BRANCH}`])
    linkPackages(root, partial)
    renameSync(partial, target)
  } catch (cause) {
    rmSync(partial, { recursive: true, force: true })
    if (cause instanceof KubeNodeError) throw cause
    throw new KubeNodeError(localErrors.KN1205_demo({ target, why: lastLine(cause) }), { cause })
  }
}

/** What `npm ci` installs in a user's own fleet: types for the editor and the program for check.sh. Git ignores them. */
function linkPackages(root: string, repository: string): void {
  const packages = join(repository, 'node_modules')
  mkdirSync(join(packages, '.bin'), { recursive: true })
  symlinkSync(root, join(packages, 'kubenode'))
  symlinkSync(join(root, 'bin/kubenode'), join(packages, '.bin/kubenode'))
  for (const name of ['constructs', '@types']) symlinkSync(join(root, 'node_modules', name), join(packages, name))
}

async function head(source: string): Promise<string> {
  return resolved(source, 'HEAD')
}

async function resolved(source: string, revision: string): Promise<string> {
  try {
    return await git(source, ['rev-parse', '--verify', `${revision}^{commit}`])
  } catch (cause) {
    if (cause instanceof KubeNodeError) throw cause
    throw new KubeNodeError(localErrors.KN1209({ source, why: lastLine(cause) }), { cause })
  }
}

/** The commit of a branch that git keeps in a loose file. Called twice a second, so it starts no process. */
function loose(target: string, branch: string | undefined): string | undefined {
  try {
    const text = branch === undefined ? readFileSync(join(target, '.git/HEAD'), 'utf8') : `ref: refs/heads/${branch}\n`
    const [, ref] = /^ref: (refs\/heads\/\S+)\n$/.exec(text) ?? []
    const commit = ref === undefined ? '' : readFileSync(join(target, '.git', ref), 'utf8').trim()
    return /^[0-9a-f]{40,64}$/.test(commit) ? commit : undefined
  } catch {
    return undefined
  }
}

/** The commit the fleet should be at, whatever is checked out now: of the branch that was checked out at the start, or of the demo's branch. */
export async function newestCommit({ repository, follows }: Pick<Layout, 'repository' | 'follows'>): Promise<string> {
  const branch = follows === undefined ? DEMO_BRANCH : follows.branch
  return (
    loose(repository, branch) ??
    (branch === undefined ? head(repository) : resolved(repository, `refs/heads/${branch}`))
  )
}

/** Titles of the repository's commits. Caches the last one, which is requested twice a second. */
export function commitNames(repository: string): (commit: string) => Promise<string> {
  let last: { readonly commit: string; readonly called: Promise<string> } | undefined
  return (commit) => {
    if (last?.commit !== commit) last = { commit, called: titledIn(openLocalRepository(repository), commit) }
    return last.called
  }
}

/**
 * The files below fleet/ of one commit, whatever the work tree holds; replaces `target`. Applies sync's limits for a commit, which `git archive` does not have,
 * and ignores attributes, filters and programs that a repository may name.
 */
export async function exportCommit(repository: string, commit: string, target: string, path = '.'): Promise<void> {
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  const { files, executable } = await openLocalRepository(repository).readFiles(commit, [join(path, 'fleet')])
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(target, path)), { recursive: true })
    writeFileSync(join(target, path), bytes, { mode: executable.has(path) ? 0o700 : 0o600, flag: 'wx' })
  }
}

/** Commits in the demo must not fail because git has no user name. */
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

/** Commits a switch from demo workers to systemd machines. `nodes` undefined: as many as before, or a few. */
export async function commitMachines(target: string, nodes?: number): Promise<void> {
  const path = join(target, HOSTS_FILE)
  const before = JSON.parse(readFileSync(path, 'utf8')) as { readonly made?: number }
  const made = nodes ?? (before.made === undefined || before.made === 0 ? MACHINES_MADE : before.made)
  if (before.made === made) return
  writeFileSync(path, `${JSON.stringify({ ...before, made }, null, 2)}\n`)
  writeFileSync(join(target, CLUSTERS_FILE), sizedTo(target, 0))
  const subject = `fleet: ${made} systemd machines a cluster`
  await git(target, ['commit', '--quiet', '-m', subject, '--', HOSTS_FILE, CLUSTERS_FILE])
}

/** Changes the node count of each cluster like any other change: by a commit. */
export async function commitSize(target: string, nodes: number): Promise<void> {
  const path = join(target, CLUSTERS_FILE)
  const text = sizedTo(target, nodes)
  if (readFileSync(path, 'utf8') === text) return
  writeFileSync(path, text)
  await git(target, ['commit', '--quiet', '-m', `fleet: ${nodes} nodes a cluster`, '--', CLUSTERS_FILE])
}

/** Gives every cluster with its own machines the same node count, one line per cluster as in git. */
function sizedTo(target: string, nodes: number): string {
  const before: unknown = JSON.parse(readFileSync(join(target, CLUSTERS_FILE), 'utf8'))
  const lines = Object.entries(isObject(before) ? before : {}).map(([name, cluster]) => {
    const sized = isObject(cluster) && cluster['registered'] !== true ? { ...cluster, nodes } : cluster
    return `  ${JSON.stringify(name)}: ${inOneLine(sized)}`
  })
  return `{\n${lines.join(',\n')}\n}\n`
}

/** An entry as a user would write it. */
const inOneLine = (value: unknown): string =>
  isObject(value)
    ? `{ ${Object.entries(value)
        .map(([name, field]) => `${JSON.stringify(name)}: ${JSON.stringify(field)}`)
        .join(', ')} }`
    : JSON.stringify(value)
