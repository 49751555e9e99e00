// Runs one check program: no shell, its own process group that is killed as a whole at the timeout, output read only up to the limit.
import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { killGroup } from '#lib/kill-group.ts'
import type { Clock } from '#lib/clock.ts'
import type { PluginResult } from './judge.ts'

export interface PluginCall {
  readonly path: string
  readonly args: readonly string[]
  readonly timeoutMs: number
  readonly maxOutput: number
  readonly environment: Readonly<Record<string, string>>
  readonly folder: string
  readonly clock: Clock
}

/** The same limit as node-problem-detector: the rest of the output is read and dropped. */
export const MAX_READ = 4_096

const notStarted = (message: string): PluginResult => ({ status: 'Unknown', message, isNotStarted: true })

/** Exit codes that shells and wrappers use when the program does not exist or is not executable. */
export const NOT_STARTED_CODES: ReadonlySet<number | null> = new Set([126, 127])

export function runPlugin(call: PluginCall): Promise<PluginResult> {
  const { path, args, timeoutMs, maxOutput, environment, folder, clock } = call
  const refusal = refusalOf(path)
  if (refusal !== undefined) return Promise.resolve(notStarted(refusal))
  return new Promise((resolve) => {
    const child = spawn(path, args, {
      cwd: folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...environment },
    })
    let output = Buffer.alloc(0)
    let isLate = false
    let isOver = false
    const end = (result: PluginResult): void => {
      if (isOver) return
      isOver = true
      timer.cancel()
      killGroup(child.pid)
      child.stdout.destroy()
      resolve(result)
    }
    const timer = clock.after(timeoutMs, () => {
      isLate = true
      // Including the children it left behind.
      killGroup(child.pid)
    })
    child.stdout.on('data', (chunk: Buffer) => {
      if (output.length < MAX_READ) output = Buffer.concat([output, chunk.subarray(0, MAX_READ - output.length)])
    })
    child.once('error', (e) => end(notStarted(`Error in starting plugin: ${e.message}`)))
    child.once('exit', (code) => {
      // A child that keeps the output open must not block the agent.
      setImmediate(() => {
        const text = output.toString('utf8').trim()
        const state = isLate ? 'signal: killed' : ''
        const message = isLate ? `Timeout when running plugin "${path}": state - ${state}. output - "${text}"` : text
        end({
          status: statusOf(isLate ? undefined : code),
          message: cutToBytes(message, maxOutput),
          ...(NOT_STARTED_CODES.has(code) && { isNotStarted: true }),
        })
      })
    })
  })
}

export const statusOf = (code: number | null | undefined): PluginResult['status'] =>
  code === 0 ? 'Ok' : code === 1 ? 'NonOk' : 'Unknown'

/** A program that any user may modify is not run. */
function refusalOf(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined || !stat.isFile()) return 'Error in starting plugin: file not found'
  return (stat.mode & 0o002) === 0 ? undefined : 'Error in starting plugin: the file is world-writable'
}

/** Never cuts a character in half. */
function cutToBytes(text: string, max: number): string {
  if (Buffer.byteLength(text) <= max) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(max))
  return text.slice(0, read)
}
