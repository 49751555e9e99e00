// Runs one program of a repair: no shell, its own process group, bounded in time, output, memory and files, and marked so that a later agent can end it.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { killGroup } from '#lib/kill-group.ts'
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'

export interface ProgramRun {
  readonly command: readonly [program: string, ...args: readonly string[]]
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Stops the program early. */
  readonly signal: AbortSignal
  readonly clock: Clock
}

export type ProgramEnd =
  | { readonly kind: 'Exited'; readonly code: number; readonly output: string }
  | { readonly kind: 'Killed'; readonly why: string; readonly output: string }

/** Limit of kept output, counted from its end. */
export const MAX_OUTPUT = 16_384
/** Limits data, not address space: runtimes reserve far more than they use. */
export const MAX_DATA_BYTES = 2 ** 30
export const MAX_FILES = 1_024
const PRLIMIT = '/usr/bin/prlimit'
const LIMITS = [`--data=${MAX_DATA_BYTES}`, `--nofile=${MAX_FILES}`, '--core=0', '--']

export function runProgram(run: ProgramRun): Promise<ProgramEnd> {
  const { command, folder, environment, timeoutMs, signal, clock } = run
  const [program, ...args] = command
  const limited = existsSync(PRLIMIT) ? [PRLIMIT, ...LIMITS, program, ...args] : [program, ...args]
  return new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: 'Killed', why: messageOf(signal.reason), output: '' })
    const [first = program, ...rest] = limited
    const env = { ...environment }
    const child = spawn(first, rest, { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = Buffer.alloc(0)
    let why: string | undefined
    let code: number | null = null
    const take = (chunk: Buffer): void => {
      output = Buffer.concat([output, chunk]).subarray(-MAX_OUTPUT)
    }
    const stop = (reason: string): void => {
      why ??= reason
      killGroup(child.pid)
    }
    const onAbort = (): void => stop(messageOf(signal.reason))
    const timer = clock.after(timeoutMs, () => stop(`timed out after ${timeoutMs} ms`))
    signal.addEventListener('abort', onAbort, { once: true })
    const end = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', onAbort)
      const text = output.toString('utf8')
      if (why !== undefined || code === null) resolve({ kind: 'Killed', why: why ?? 'ended by a signal', output: text })
      else resolve({ kind: 'Exited', code, output: text })
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    child.once('error', (e) => {
      why ??= e.message
      end()
    })
    child.once('exit', (exitCode) => {
      code = exitCode
      // Also kills processes that the program left behind: no process of a repair outlives its step.
      killGroup(child.pid)
    })
    child.once('close', end)
    return undefined
  })
}
