// Keeps the processes of the local fleet alive: starts them, writes what they say to files, starts them again when they end, and ends them all.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import { openLog } from '#lib/whole-file.ts'

export interface Program {
  /** `NAME-controllers`, NAME that of a cluster: in messages, and the name of its log file. */
  readonly name: string
  /** It ends rather than take the memory of the others; then it is started again. */
  readonly heapMb: number
  readonly args: readonly string[]
}

export interface KeeperOptions {
  readonly node: string
  readonly entry: string
  readonly logs: string
  readonly env: Readonly<Record<string, string>>
  readonly clock: Clock
  /** A process ended that should run; it is started again after `againInMs`. */
  readonly onEnd: (name: string, how: string, againInMs: number) => void
}

/** Young garbage is cleared often and in small pieces: a program that is mostly idle otherwise keeps tens of megabytes of it. */
const SEMI_SPACE_MB = 8
const FIRST_RESTART_MS = 200
const LAST_RESTART_MS = 10_000
/** After a run of this length the restart counter is reset. */
const GOOD_RUN_MS = 30_000
/** What a program gets to drain before it is killed. Everything they write is safe against a kill; this only saves a lease its time. */
const STOP_MS = 4_000

/** Small heaps are collected by one thread: with more of them, twenty programs that start at once spend a fifth of their time on waking and awaiting helpers. */
export const memoryFlags = (heapMb: number): readonly string[] => [
  `--max-old-space-size=${heapMb}`,
  `--max-semi-space-size=${SEMI_SPACE_MB}`,
  '--single-threaded-gc',
]

/** Undefined when the disk is full or the folder was deleted: the program then runs without a log. */
function openedLog(path: string): number | undefined {
  try {
    return openLog(path)
  } catch {
    return undefined
  }
}

interface Kept {
  readonly program: Program
  child: ChildProcess | undefined
  failures: number
  startedAt: number
}

export class Keeper {
  readonly #o: KeeperOptions
  readonly #kept = new Map<string, Kept>()
  #isStopping = false

  constructor(options: KeeperOptions) {
    this.#o = options
  }

  /** Nothing while all are being ended: a start that was interrupted may still be at it. */
  start(program: Program): void {
    if (this.#isStopping) return
    const kept: Kept = { program, child: undefined, failures: 0, startedAt: 0 }
    this.#kept.set(program.name, kept)
    this.#spawn(kept)
  }

  pids(): ReadonlyMap<string, number> {
    return new Map(
      [...this.#kept].flatMap(([name, { child }]) => (child?.pid === undefined ? [] : [[name, child.pid]])),
    )
  }

  /** Ends the given programs, all at once, and answers when none of them is left. */
  async stop(names: readonly string[] = [...this.#kept.keys()]): Promise<void> {
    this.#isStopping = true
    await Promise.all(names.map((name) => this.#stopOne(this.#kept.get(name))))
  }

  #spawn(kept: Kept): void {
    const { node, entry, logs, env, clock } = this.#o
    const { name, args, heapMb } = kept.program
    const log = openedLog(join(logs, `${name}.log`))
    // Standard input is a pipe that we never write to: when it closes, the child knows that we ended, also after a kill -9.
    const child = spawn(node, [...memoryFlags(heapMb), entry, ...args], {
      stdio: ['pipe', log ?? 'ignore', log ?? 'ignore'],
      env: { ...env, KUBENODE_UNTIL_STDIN_ENDS: '1' },
      detached: true,
    })
    if (log !== undefined) closeSync(log)
    child.stdin?.on('error', () => undefined)
    kept.child = child
    kept.startedAt = clock.monotonic()
    child.once('error', (e) => this.#ended(kept, child, e.message))
    child.once('exit', (code, signal) => this.#ended(kept, child, signal ?? `exit ${code}`))
  }

  #ended(kept: Kept, child: ChildProcess, how: string): void {
    if (kept.child !== child) return
    kept.child = undefined
    if (this.#isStopping) return
    const ranMs = this.#o.clock.monotonic() - kept.startedAt
    kept.failures = ranMs > GOOD_RUN_MS ? 1 : kept.failures + 1
    const againInMs = Math.min(LAST_RESTART_MS, FIRST_RESTART_MS * 2 ** (kept.failures - 1))
    this.#o.onEnd(kept.program.name, how, againInMs)
    this.#o.clock.after(againInMs, () => {
      if (!this.#isStopping) this.#spawn(kept)
    })
  }

  async #stopOne(kept: Kept | undefined): Promise<void> {
    const child = kept?.child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()))
    child.kill('SIGTERM')
    const hard = this.#o.clock.after(STOP_MS, () => child.kill('SIGKILL'))
    await ended
    hard.cancel()
  }
}
