// Keeps child processes of this program alive: starts them, restarts them when they exit, and stops them. For the local fleet and for the programs of Clusters.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import { openLog } from '#lib/whole-file.ts'

export interface Program {
  /** `CLUSTER-controllers`, used in messages and as the log file's name. */
  readonly name: string
  /** Heap limit. The process exits at the limit instead of starving the others, and is restarted. */
  readonly heapMb: number
  readonly args: readonly string[]
  /** Lines for its standard input at each start; more may follow with `send`. Without it the input only shows that this process lives. */
  readonly input?: () => string
}

export interface KeeperOptions {
  readonly node: string
  readonly entry: string
  /** Folder of log files; the output of this process if left out. */
  readonly logs?: string
  readonly env: Readonly<Record<string, string>>
  readonly clock: Clock
  /** A process that should run has exited; it restarts in `againInMs`. */
  readonly onEnd: (name: string, how: string, againInMs: number) => void
}

/** A small young generation is collected often and in small pieces. Otherwise a mostly idle program keeps tens of megabytes of garbage. */
const SEMI_SPACE_MB = 8
const FIRST_RESTART_MS = 200
const LAST_RESTART_MS = 10_000
/** A run this long resets the restart counter. */
const GOOD_RUN_MS = 30_000
/** Time to drain before a kill. All their writes survive a kill; draining only frees the lease sooner. */
const STOP_MS = 4_000

/** Small heaps are collected by one thread. With more, twenty programs that start together spend a fifth of their time waking helper threads. */
export const memoryFlags = (heapMb: number): readonly string[] => [
  `--max-old-space-size=${heapMb}`,
  `--max-semi-space-size=${SEMI_SPACE_MB}`,
  '--single-threaded-gc',
]

/** Undefined if the disk is full or the folder was deleted; the program then runs without a log. */
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

  /** Does nothing while all programs are being stopped: an interrupted start may still call it. */
  start(program: Program): void {
    if (this.#isStopping) return
    const kept: Kept = { program, child: undefined, failures: 0, startedAt: 0 }
    this.#kept.set(program.name, kept)
    this.#spawn(kept)
  }

  /** Does nothing while the process is not there: its next start gets `input`. */
  send(name: string, line: string): void {
    const child = this.#kept.get(name)?.child
    if (child?.stdin?.writable === true) child.stdin.write(line)
  }

  /** Stops one program for good; the others continue. */
  async end(name: string): Promise<void> {
    const kept = this.#kept.get(name)
    this.#kept.delete(name)
    if (kept !== undefined) await this.#stopOne(kept)
  }

  /** It exits and is restarted, as after a crash. */
  kill(name: string): void {
    this.#kept.get(name)?.child?.kill('SIGKILL')
  }

  pids(): ReadonlyMap<string, number> {
    return new Map(
      [...this.#kept].flatMap(([name, { child }]) => (child?.pid === undefined ? [] : [[name, child.pid]])),
    )
  }

  /** Stops the given programs in parallel and resolves when none is left. */
  async stop(names: readonly string[] = [...this.#kept.keys()]): Promise<void> {
    this.#isStopping = true
    await Promise.all(names.map((name) => this.#stopOne(this.#kept.get(name))))
  }

  #spawn(kept: Kept): void {
    const { node, entry, logs, env, clock } = this.#o
    const { name, args, heapMb, input } = kept.program
    const log = logs === undefined ? undefined : openedLog(join(logs, `${name}.log`))
    const output = logs === undefined ? 'inherit' : (log ?? 'ignore')
    // Standard input is a pipe: when it closes, the child knows that this process has exited, even after a kill -9.
    const child = spawn(node, [...memoryFlags(heapMb), entry, ...args], {
      stdio: ['pipe', output, output],
      // A program that reads its input notices the end itself.
      env: input === undefined ? { ...env, KUBENODE_UNTIL_STDIN_ENDS: '1' } : env,
      detached: true,
    })
    if (log !== undefined) closeSync(log)
    child.stdin?.on('error', () => undefined)
    if (input !== undefined) child.stdin?.write(input())
    kept.child = child
    kept.startedAt = clock.monotonic()
    child.once('error', (e) => this.#ended(kept, child, e.message))
    child.once('exit', (code, signal) => this.#ended(kept, child, signal ?? `exit ${code}`))
  }

  #ended(kept: Kept, child: ChildProcess, how: string): void {
    if (kept.child !== child) return
    kept.child = undefined
    if (!this.#isMeant(kept)) return
    const ranMs = this.#o.clock.monotonic() - kept.startedAt
    kept.failures = ranMs > GOOD_RUN_MS ? 1 : kept.failures + 1
    const againInMs = Math.min(LAST_RESTART_MS, FIRST_RESTART_MS * 2 ** (kept.failures - 1))
    this.#o.onEnd(kept.program.name, how, againInMs)
    this.#o.clock.after(againInMs, () => {
      if (this.#isMeant(kept)) this.#spawn(kept)
    })
  }

  #isMeant(kept: Kept): boolean {
    return !this.#isStopping && this.#kept.get(kept.program.name) === kept
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
