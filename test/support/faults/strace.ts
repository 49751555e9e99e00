// Runs a program under strace: to make its system calls on certain files fail or kill it, or to record what it writes where, and when it was synced.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Why it cannot be used here; undefined when it can. */
export function noStrace(): string | undefined {
  const tried = spawnSync('strace', ['-D', '-qq', '-f', '-o', '/dev/null', '-e', 'trace=exit_group', 'true'], {
    stdio: 'ignore',
  })
  if (tried.error !== undefined) return 'strace is not installed'
  return tried.status === 0 ? undefined : 'strace may not trace here'
}

export interface Injection {
  /** Only calls on these files. */
  readonly files: readonly string[]
  readonly calls: readonly string[]
  /** `error=EIO`, `signal=KILL`. */
  readonly what: string
  /** Which of the calls: `7`, `7+`, `3..5`. */
  readonly when: string
}

export interface Ran {
  readonly code: number | null
  readonly signal: string | null
  readonly out: string
  readonly err: string
}

export const injecting = ({ files, calls, what, when }: Injection): readonly string[] => [
  'strace',
  // the program is the child that is waited for and killed, not strace
  '-D',
  '-f',
  '-qq',
  '-o',
  '/dev/null',
  ...files.flatMap((f) => ['-P', f]),
  '-e',
  `trace=${calls.join(',')}`,
  '-e',
  `inject=${calls.join(',')}:${what}:when=${when}`,
]

export function run(argv: readonly string[]): Promise<Ran> {
  const child = spawn(argv[0] ?? '', argv.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.on('data', (d: Buffer) => void (out += d.toString()))
  child.stderr.on('data', (d: Buffer) => void (err += d.toString()))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, out, err }))
  })
}

export type DiskEvent =
  | { readonly kind: 'Write'; readonly file: string; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'Resize'; readonly file: string; readonly bytes: number }
  | { readonly kind: 'Sync'; readonly file: string }
  | { readonly kind: 'Remove'; readonly file: string }
  /** Another name; what is under the new one goes. */
  | { readonly kind: 'Move'; readonly file: string; readonly to: string }
  | { readonly kind: 'Said'; readonly text: string }

const RECORDED = 'pwrite64,write,pwritev,writev,ftruncate,fsync,fdatasync,unlink,rename'
/** Longer than any write of SQLite's: a page or a piece of the log. */
const LONGEST_WRITE = 1024 * 1024

export interface Recording {
  readonly argv: readonly string[]
  /** Call when the program has ended. */
  events(folder: string): readonly DiskEvent[]
}

/** Of these files alone, when some are named. A file a thread, so that no call is torn apart by another thread's; put in order by their time. */
export function recording(files: readonly string[] = []): Recording {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-strace-'))
  return {
    argv: [
      'strace',
      '-D',
      '-ff',
      '-ttt',
      '-y',
      '-xx',
      '-qq',
      '-s',
      String(LONGEST_WRITE),
      '-e',
      `trace=${RECORDED}`,
      '-o',
      join(folder, 't'),
      ...files.flatMap((f) => ['-P', f]),
    ],
    events(of) {
      const lines = readdirSync(folder)
        .flatMap((f) => readFileSync(join(folder, f), 'latin1').split('\n'))
        .filter((l) => l.includes(') = ') && !l.includes('= -1'))
        .map((l) => ({ time: Number(l.slice(0, l.indexOf(' '))), text: l.slice(l.indexOf(' ') + 1) }))
        .toSorted((a, b) => a.time - b.time)
      rmSync(folder, { recursive: true, force: true })
      return lines.map(({ text }) => eventOf(text, of)).filter((e) => e !== undefined)
    },
  }
}

const unhex = (text: string): Buffer => Buffer.from(text.replaceAll('\\x', ''), 'hex')

function eventOf(line: string, folder: string): DiskEvent | undefined {
  const name = line.slice(0, line.indexOf('('))
  const fd = /^\w+\((\d+)<([^>]*)>/.exec(line)
  const path = fd === null ? '' : readable(fd[2] ?? '')
  const inside = path.startsWith(`${folder}/`)
  const texts = [...line.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map((m) => unhex(m[1] ?? ''))
  if (name === 'write' && fd?.[1] === '1') return { kind: 'Said', text: (texts[0] ?? '').toString() }
  if (name === 'unlink') return remove(texts[0]?.toString() ?? '', folder)
  if (name === 'rename') return { kind: 'Move', file: texts[0]?.toString() ?? '', to: texts[1]?.toString() ?? '' }
  if (!inside) return undefined
  if (name === 'fsync' || name === 'fdatasync') return { kind: 'Sync', file: path }
  if (name === 'ftruncate') return { kind: 'Resize', file: path, bytes: Number(/, (\d+)\) = /.exec(line)?.[1]) }
  if (name !== 'pwrite64') return undefined
  return { kind: 'Write', file: path, at: Number(/, (\d+)\) = /.exec(line)?.[1]), bytes: texts[0] ?? Buffer.alloc(0) }
}

const remove = (file: string, folder: string): DiskEvent | undefined =>
  file.startsWith(`${folder}/`) ? { kind: 'Remove', file } : undefined

/** Paths of descriptors are in hex too with some versions. */
const readable = (path: string): string => (path.includes('\\x') ? unhex(path).toString() : path)
