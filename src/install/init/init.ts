// Creates a fleet repository: builds it completely next to its target, then moves it. Invariant: an existing file is never changed.
import { execFile } from 'node:child_process'
import { constants, copyFileSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { entriesBelow } from '#lib/entries-below.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { makeOwnedFolder, sweepOwnedFolders } from '#lib/owned-folders.ts'
import { type NewFleet, writeFiles } from './files.ts'
import { initErrors } from './init-errors.ts'
import { defaultKeyFile, signerAt } from './key.ts'

export interface InitOptions {
  readonly dir: string
  readonly name?: string
  readonly cluster: string
  readonly key?: string
  readonly force: boolean
}

export interface InitWorld {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly now: number
  readonly pack: NewFleet['pack']
}

export interface InitResult {
  readonly folder: string
  readonly name: string
  readonly keyFile: string
  readonly keyId: string
  readonly isNewKey: boolean
  /** Existing files, left unchanged. */
  readonly kept: readonly string[]
}

const BRANCH = 'main'
/** Packing takes a minute on a busy machine. */
const LONGEST_MS = 3_600_000
/** Names of a non-empty folder in an error. */
const MAX_SEEN = 3
const NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/
/** Valid as a Cluster's name. */
const CLUSTER = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

export async function initFleet(options: InitOptions, { cwd, env, now, pack }: InitWorld): Promise<InitResult> {
  const folder = resolve(cwd, options.dir)
  const { cluster, force } = options
  const name = options.name ?? basename(folder).toLowerCase()
  if (!NAME.test(name))
    throw refusedValue('--name', name, 'use small letters, digits, dots and dashes, as npm does for packages')
  if (!CLUSTER.test(cluster)) throw refusedValue('--cluster', cluster, 'use small letters, digits and dashes')
  const before = contentOf(folder)
  if (before.length > 0 && !force)
    throw new KubeNodeError(initErrors.KN1501({ folder, seen: before.slice(0, MAX_SEEN).join(', ') }))
  await git(['--version'], cwd, env)
  const keyFile = options.key === undefined ? defaultKeyFile(name, env) : resolve(cwd, options.key)
  const { signer, isNew } = signerAt(keyFile, folder)
  const made = { folder, name, keyFile, keyId: signer.publicKey.keyId, isNewKey: isNew }
  const parent = dirname(folder)
  mkdirSync(parent, { recursive: true })
  const folders = { parent, prefix: '.kubenode-init-', maxAgeMs: LONGEST_MS }
  sweepOwnedFolders(folders)
  const scratch = makeOwnedFolder(folders)
  try {
    const staged = join(scratch, 'repository')
    mkdirSync(staged)
    await writeFiles(staged, { name, cluster, keyFile, signer, now, pack })
    if (!before.includes('.git')) await git(['init', '--quiet', '-b', BRANCH, staged], staged, env)
    return { ...made, kept: moved(staged, folder) }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const refusedValue = (flag: string, value: string, why: string): KubeNodeError =>
  new KubeNodeError(initErrors.KN1002_value({ flag, value: JSON.stringify(value), why }))

function contentOf(folder: string): readonly string[] {
  const stat = lstatSync(folder, { throwIfNoEntry: false })
  if (stat === undefined) return []
  if (!stat.isDirectory())
    throw new KubeNodeError(initErrors.KN1501_write({ path: folder, why: 'it exists and is not a folder' }))
  return readdirSync(folder)
}

/** Returns the files that already existed. */
function moved(staged: string, folder: string): readonly string[] {
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) {
    renameSync(staged, folder)
    return []
  }
  const kept: string[] = []
  for (const { kind, path } of entriesBelow(staged)) {
    const to = join(folder, path)
    const there = lstatSync(to, { throwIfNoEntry: false })
    if (kind === 'Folder') makeFolder(to, there)
    else if (there === undefined) copyFileSync(join(staged, path), to, constants.COPYFILE_EXCL)
    else kept.push(path)
  }
  return kept
}

/** A link would lead out of the repository. */
function makeFolder(path: string, there: { isDirectory(): boolean } | undefined): void {
  if (there === undefined) mkdirSync(path)
  else if (!there.isDirectory()) throw new KubeNodeError(initErrors.KN1501_write({ path, why: 'it is not a folder' }))
}

async function git(args: readonly string[], cwd: string, env: InitWorld['env']): Promise<void> {
  try {
    // Without the user's templates, whose hooks are for other repositories.
    await promisify(execFile)('git', ['-c', 'init.templateDir=', ...args], { cwd, env: { ...env } })
  } catch (cause) {
    const isAbsent = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    throw new KubeNodeError(initErrors.KN1208_init({ why: isAbsent ? 'git is not installed' : messageOf(cause) }), {
      cause,
    })
  }
}
