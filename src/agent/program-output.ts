// Runs one program without a shell and keeps the end of its output, however long: exceeding the limit costs the beginning, never the result.
import { spawn } from 'node:child_process'
import { defined } from '#lib/defined.ts'
import { killGroup } from '#lib/kill-group.ts'
import { livingInGroup, type ProcessId } from './supervise/proc.ts'

export interface ProgramCall {
  readonly program: string
  readonly args: readonly string[]
  readonly timeoutMs: number
  /** Limit for each stream, counted from its end. */
  readonly maxBytes: number
  readonly environment: Readonly<Record<string, string>>
  readonly folder?: string
  /** A program that writes more than this is killed. */
  readonly floodBytes?: number
  /** So long after it was killed, a program that hangs in the kernel is left behind. Absent: its end is awaited, however long it takes. */
  readonly leftAfterMs?: number
  /** Ends the group of a process. */
  readonly kill?: (pid: number | undefined) => void
}

interface Kept {
  readonly text: string
  /** Omitted bytes at the beginning. */
  readonly cutBytes: number
}

export interface ProgramOutput {
  /** Undefined: it exited with code 0. */
  readonly problem: string | undefined
  /** Undefined: it was not started, or a signal ended it. */
  readonly code: number | undefined
  readonly stdout: Kept
  readonly stderr: Kept
  /** Its processes that were killed and had not ended after `leftAfterMs`. */
  readonly left: readonly ProcessId[]
}

/** A child that inherited the output of an exited program may keep it open; the output until then is the result. */
const DRAIN_MS = 1_000

export function programOutput(call: ProgramCall): Promise<ProgramOutput> {
  const { program, args, timeoutMs, maxBytes, environment, folder, floodBytes = Infinity } = call
  const { leftAfterMs, kill: killAll = killGroup } = call
  return new Promise((resolve) => {
    const [stdout, stderr] = [new Tail(maxBytes), new Tail(maxBytes)]
    let problem: string | undefined
    let code: number | undefined
    let isOver = false
    let leaving: NodeJS.Timeout | undefined
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own: what a program started must not outlive its time limit, or each hanging probe would leave a process behind.
      detached: true,
      env: { ...environment },
      ...defined({ cwd: folder }),
    })
    const living = (): readonly ProcessId[] =>
      leaving === undefined || child.pid === undefined ? [] : livingInGroup(child.pid)
    const end = (left: readonly ProcessId[]): void => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      clearTimeout(leaving)
      child.stdout.destroy()
      child.stderr.destroy()
      resolve({ problem, code, stdout: stdout.kept(), stderr: stderr.kept(), left })
    }
    const kill = (why: string): void => {
      problem ??= why
      killAll(child.pid)
      if (leftAfterMs !== undefined) leaving ??= setTimeout(leave, leftAfterMs)
    }
    const leave = (): void => {
      child.unref()
      end(living())
    }
    /** Of one that was killed, the rest may still hang. */
    const endIfGone = (): void => {
      if (living().length === 0) end([])
    }
    const timer = setTimeout(() => kill(`timed out after ${timeoutMs} ms`), timeoutMs)
    for (const [stream, tail] of [
      [child.stdout, stdout],
      [child.stderr, stderr],
    ] as const)
      stream.on('data', (chunk: Buffer) => {
        tail.add(chunk)
        if (tail.total > floodBytes) kill(`killed after ${floodBytes} bytes of output`)
      })
    child.once('error', (e) => {
      problem ??= e.message
      end([])
    })
    child.once('exit', (exitCode, signal) => {
      code = exitCode ?? undefined
      if (code !== 0) problem ??= signal === null ? `exited with code ${code}` : `ended by ${signal}`
      setTimeout(endIfGone, DRAIN_MS).unref()
    })
    child.once('close', endIfGone)
  })
}

/** Holds at most twice the limit, so that many small chunks are not copied one by one. */
class Tail {
  readonly #max: number
  #chunks: Buffer[] = []
  #held = 0
  #cut = 0
  total = 0

  constructor(max: number) {
    this.#max = max
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#held += chunk.length
    this.total += chunk.length
    if (this.#held > 2 * this.#max) this.#trim()
  }

  kept(): Kept {
    this.#trim()
    return { text: Buffer.concat(this.#chunks).toString('utf8'), cutBytes: this.#cut }
  }

  #trim(): void {
    const all = Buffer.concat(this.#chunks)
    const kept = all.subarray(-this.#max)
    this.#cut += all.length - kept.length
    this.#chunks = [kept]
    this.#held = kept.length
  }
}
