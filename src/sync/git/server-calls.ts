// Calls to a repository's server: fetch a ref, list refs, push a commit. Uses the git program. On a machine without git it uses the program in
// over-https, for https only: slower, because it keeps a whole pack in memory, but within the same limits of time, memory and disk.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { MIB } from '#lib/bytes.ts'
import { defined } from '#lib/defined.ts'
import { isKubeNodeError, KubeNodeError } from '#lib/errors.ts'
import { modulePath } from '#lib/release-root.ts'
import { syncErrors } from '../sync-errors.ts'
import { keysIn, withAccess, type Env } from './access-env.ts'
import { unknownProblem } from './fetch-problem.ts'
import { isLocal } from './local-url.ts'
import type { FetchTask, ListTask, PushTask, Server } from './over-https/task.ts'
import { pinsOf } from './reach.ts'
import { requireKnownProtocol, runGit, runProgram, type GitRun } from './run-git.ts'
import { SAFE_SETTINGS } from './safe-settings.ts'

export interface ServerCall {
  readonly run: GitRun
  /** The folder in which credentials are handed over. */
  readonly cacheDir: string
  /** A bare repository. */
  readonly dir: string
}

/** A ref on the server, or a commit, and the local ref that is moved there. */
export type RefSpec = Pick<FetchTask, 'from' | 'to'>

const FETCH = ['fetch', '--quiet', '--no-tags', '--force', '--no-recurse-submodules', '--no-auto-maintenance']

export const fetchRef = (call: ServerCall, { from, to }: RefSpec): Promise<string> =>
  hasGit(call.run.env)
    ? byGit(call, [...FETCH, '--', call.run.url, `+${from}:${to}`])
    : byStandIn(call, { kind: 'Fetch', dir: call.dir, from, to })

/** Lists refs with these prefixes, in the format of `git ls-remote --symref`. */
export const listRefs = (call: ServerCall, prefixes: readonly string[]): Promise<string> =>
  hasGit(call.run.env)
    ? byGit(call, [
        'ls-remote',
        '--symref',
        '--',
        call.run.url,
        ...prefixes.map((p) => (p.endsWith('/') ? `${p}*` : p)),
      ])
    : byStandIn(call, { kind: 'List', prefixes })

export interface PushedCommit extends Pick<PushTask, 'commit' | 'ref' | 'objects'> {
  /** Where the ref must be; undefined: it must not exist. */
  readonly expected: string | undefined
  /** Settings for the receiving side, if it is a repository on this machine. */
  readonly settings: readonly string[]
}

export function pushCommit(call: ServerCall, { commit, ref, objects, expected, settings }: PushedCommit) {
  const { url, env } = call.run
  if (!hasGit(env)) return byStandIn(call, { kind: 'Push', commit, ref, objects, ...defined({ expected }) })
  const lease = `--force-with-lease=${ref}:${expected ?? ''}`
  const options = ['--quiet', '--no-verify', ...localProgram(url, 'receive-pack', settings), lease]
  return byGit(call, ['push', ...options, '--', url, `${commit}:${ref}`])
}

/** In a repository on this machine, git would run its hooks as sync's user. */
const RECEIVE_SETTINGS = [
  'receive.autogc=false',
  'receive.denyCurrentBranch=refuse',
  'gc.auto=0',
  'maintenance.auto=false',
]

/** The receiving side of a repository on this machine, without its hooks and programs. */
export const localProgram = (
  url: string,
  program: 'upload-pack' | 'receive-pack',
  more: readonly string[] = [],
): readonly string[] =>
  isLocal(url)
    ? [
        `--${program}=${['git', ...SAFE_SETTINGS, ...[...RECEIVE_SETTINGS, ...more].flatMap((s) => ['-c', s]), program].join(' ')}`,
      ]
    : []

/** Without a PATH the system searches its default places. */
export const hasGit = ({ PATH }: Env): boolean =>
  PATH === undefined || PATH.split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, 'git')))

async function byGit({ run, cacheDir, dir }: ServerCall, args: readonly string[]): Promise<string> {
  const { url, access, reach = {}, deadlineMs } = run
  requireKnownProtocol(url)
  let text = ''
  await withAccess({ access, url, reach, env: run.env, keys: keysIn(cacheDir, deadlineMs) }, async (env) => {
    text = await runGit([`--git-dir=${dir}`, ...args], { ...run, env })
  })
  return text
}

type Asked = {
  [K in 'Fetch' | 'List' | 'Push']: Omit<Extract<FetchTask | ListTask | PushTask, { kind: K }>, keyof Server>
}

const STAND_IN = 'src/sync/git/over-https/main.ts'
/** While its index is built, a pack is in memory several times, and the program has a gigabyte: 128 MiB would be too much. */
const MAX_ANSWER_BYTES = 64 * MIB
/** Note for a source's status. */
export const WITHOUT_GIT = `this machine has no program git: repositories are fetched over https only, more slowly, and up to ${MAX_ANSWER_BYTES / MIB} MiB at once`

async function byStandIn({ run }: ServerCall, asked: Asked[keyof Asked]): Promise<string> {
  const { url, access, reach = {} } = run
  requireKnownProtocol(url)
  if (!url.startsWith('https:') || access.kind === 'SshKey')
    throw new KubeNodeError(syncErrors.KN1208_fetch({ url }), { retry: 'later' })
  const { authorization, authorities, proxy } = access.kind === 'Https' ? access : {}
  const maxBytes = Math.min(run.within.maxBytes, MAX_ANSWER_BYTES)
  const server: Server = {
    url,
    pins: await pinsOf(url, proxy?.url, reach),
    maxBytes,
    ...defined({ authorization, authorities, proxy: proxy?.address }),
  }
  const program = [process.execPath, '--no-warnings', modulePath(STAND_IN)]
  try {
    return await runProgram({ program, input: JSON.stringify({ ...server, ...asked }) }, run)
  } catch (error) {
    if (!isKubeNodeError(error) || error.code !== syncErrors.KN7046.code || maxBytes === run.within.maxBytes)
      throw error
    throw unknownProblem(url, `the server sent more than ${maxBytes / MIB} MiB, and ${WITHOUT_GIT}`)
  }
}
