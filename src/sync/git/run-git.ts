// Runs one git command, or its replacement program, within limits on time, memory and written data. A command that exceeds a limit is killed with all of
// its children.
import { spawn } from 'node:child_process'
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { MIB } from '#lib/bytes.ts'
import { killGroup } from '#lib/kill-group.ts'
import { assertNever, KubeNodeError, messageOf } from '#lib/errors.ts'
import { entriesBelow } from '#lib/entries-below.ts'
import { limited } from '../limited.ts'
import { syncErrors } from '../sync-errors.ts'
import type { GitAccess } from './access.ts'
import type { Env } from './access-env.ts'
import { fetchProblem, unknownProblem } from './fetch-problem.ts'
import type { GitReach } from './reach.ts'
import { isLocal } from './local-url.ts'
import { EXIT } from './over-https/task.ts'
import { SAFE_ENV, SAFE_SETTINGS } from './safe-settings.ts'

export interface GitRun {
  /** For messages, and to choose the allowed protocol. */
  readonly url: string
  readonly env: Env
  readonly access: GitAccess
  /** The servers that were checked when the credentials were handed over. */
  readonly reach?: GitReach
  readonly deadlineMs: number
  /** The folder that git writes to, and its total size limit. */
  readonly within: { readonly folder: string; readonly maxBytes: number }
  /** Makes the error from git's output; default: the repository could not be fetched. */
  readonly failed?: (output: string) => KubeNodeError
}

const MAX_GIT_OUTPUT = 64 * 1024
/** Limit of messages, including the server's; a fetch prints a few lines. */
const MAX_GIT_MESSAGES = 4 * 1024 * 1024
/** A fast disk writes a few hundred megabytes in this time; no single file exceeds the limit at all. */
const MEASURE_MS = 200
/** Writable memory of git and of each child; a fleet with its full history takes a tenth of it. */
const DATA_BYTES = 1024 * 1024 * 1024

/** Unpacks a foreign repository in bounded memory: large files are streamed, and only indexed packs are stored. */
const SETTINGS = [
  ...SAFE_SETTINGS,
  ...[
    'core.bigFileThreshold=1m',
    'core.deltaBaseCacheLimit=64m',
    'pack.threads=2',
    'fetch.unpackLimit=1',
    'transfer.fsckObjects=true',
    'gc.auto=0',
    // Stops a server that sends a byte now and then before the deadline.
    'http.lowSpeedLimit=1000',
    'http.lowSpeedTime=30',
  ].flatMap((setting) => ['-c', setting]),
]

export function requireKnownProtocol(url: string): void {
  if (!isLocal(url) && !/^(https|ssh):\/\//.test(url)) throw new KubeNodeError(syncErrors.KN1520_scheme({ url }))
}

/** Returns the output on success. */
export const runGit = (args: readonly string[], run: GitRun): Promise<string> =>
  runProgram({ program: ['git', ...SETTINGS, ...args] }, run)

export interface Program {
  readonly program: readonly string[]
  readonly input?: string
}

/** Runs any program that replaces git. */
export async function runProgram(program: Program, run: GitRun): Promise<string> {
  const { url, access, within, reach = {} } = run
  requireKnownProtocol(url)
  const ended = await runToEnd(program, run)
  if (ended.kind !== 'Done' && run.failed !== undefined) throw run.failed(outputOf(ended, run))
  switch (ended.kind) {
    case 'Done':
      return ended.out
    case 'Late':
      throw unknownProblem(url, `not finished after ${run.deadlineMs} ms`)
    case 'Large':
      throw tooLarge(url, within.maxBytes)
    case 'Loud':
      throw unknownProblem(url, `it sent more than ${MAX_GIT_MESSAGES / MIB} MiB of messages`)
    case 'Shallow':
      throw new KubeNodeError(syncErrors.KN1666_fetched({ url }), { retry: 'later' })
    case 'Failed':
      throw await fetchProblem({ url, access, reach, output: ended.output })
    case 'NotStarted':
      throw unknownProblem(url, ended.why)
    default:
      return assertNever(ended)
  }
}

function outputOf(ended: Exclude<Ended, { kind: 'Done' }>, { deadlineMs }: GitRun): string {
  if (ended.kind === 'Failed') return ended.output
  if (ended.kind === 'NotStarted') return ended.why
  return ended.kind === 'Late' ? `not finished after ${deadlineMs} ms` : 'it wrote too many bytes'
}

const SHALLOW = /rejected .* because shallow roots are not allowed|shallow update not allowed/

const tooLarge = (url: string, maxBytes: number) =>
  new KubeNodeError(syncErrors.KN7046({ url, limit: Math.round(maxBytes / MIB) }), { retry: 'later' })

type Ended =
  | { readonly kind: 'Done'; readonly out: string }
  | { readonly kind: 'Late' | 'Large' | 'Loud' | 'Shallow' }
  | { readonly kind: 'Failed'; readonly output: string }
  | { readonly kind: 'NotStarted'; readonly why: string }

/** The only protocol that git may use, whatever its configuration or the server asks for. */
const protocolOf = (url: string): string => (isLocal(url) ? 'file' : (url.split(':', 1)[0] ?? ''))

async function runToEnd({ program, input }: Program, { url, env, deadlineMs, within }: GitRun): Promise<Ended> {
  const limits = { dataBytes: DATA_BYTES, fileBytes: within.maxBytes }
  const { file, args: whole } = limited(limits, program)
  const child = spawn(file, whole, {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    env: { ...env, ...SAFE_ENV, GIT_ALLOW_PROTOCOL: protocolOf(url) },
  })
  // A program that exited immediately closes stdin; its own output has the reason.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const out = collected(child.stdout, 'Begin')
  // The cause comes last, and a server may send any number of lines before it.
  const output = collected(child.stderr, 'End', () => end('Loud'))
  let cut: 'Late' | 'Large' | 'Loud' | undefined
  const end = (why: 'Late' | 'Large' | 'Loud') => {
    cut ??= why
    if (child.exitCode === null) killGroup(child.pid)
  }
  const late = setTimeout(() => end('Late'), deadlineMs)
  const measure = setInterval(() => {
    if (isLarger(within.folder, within.maxBytes)) end('Large')
  }, MEASURE_MS)
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    if (cut !== undefined) return { kind: cut }
    // git succeeds in this case, but leaves the branch as it was.
    if (code === 0) return SHALLOW.test(output()) ? { kind: 'Shallow' } : { kind: 'Done', out: out() }
    if (code === EXIT.shallow) return { kind: 'Shallow' }
    if (code === EXIT.tooLarge) return { kind: 'Large' }
    // The limit of one file may end git between two measurements.
    if (isLarger(within.folder, within.maxBytes)) return { kind: 'Large' }
    return { kind: 'Failed', output: output().trim() === '' ? `exit ${code}` : output() }
  } catch (error) {
    return { kind: 'NotStarted', why: messageOf(error) }
  } finally {
    clearTimeout(late)
    clearInterval(measure)
  }
}

function collected(stream: NodeJS.ReadableStream, kept: 'Begin' | 'End', tooMuch?: () => void): () => string {
  let [text, chars] = ['', 0]
  stream.setEncoding('utf8')
  stream.on('data', (more: string) => {
    text = kept === 'Begin' ? (text + more).slice(0, MAX_GIT_OUTPUT) : (text + more).slice(-MAX_GIT_OUTPUT)
    chars += more.length
    if (chars > MAX_GIT_MESSAGES) tooMuch?.()
  })
  return () => text
}

/** Files may appear and disappear during the count. */
function isLarger(folder: string, maxBytes: number): boolean {
  let bytes = 0
  try {
    for (const { path, kind } of entriesBelow(folder)) {
      if (kind === 'File') bytes += lstatSync(join(folder, path), { throwIfNoEntry: false })?.size ?? 0
      if (bytes > maxBytes) return true
    }
  } catch {
    // A folder was removed during the count: the next measurement counts again.
  }
  return false
}
