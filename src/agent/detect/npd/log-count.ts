// Does what node-problem-detector's log counter does: counts matching lines in a journal within a time window, minus the lines that match the revert pattern.
import { spawn } from 'node:child_process'
import { durationMs } from '#lib/duration.ts'
import { logPatternProblem } from '#api/agent-config/log-pattern.ts'
import { climbs } from '#api/agent-config/node-paths.ts'
import { cutLines, NO_LINE } from '../line-reader.ts'
import { parseFlags } from './flags.ts'
import { journalArguments, parseEntry } from './journal.ts'
import type { PluginResult } from './judge.ts'
import { LogMatcher } from './log-matcher.ts'

export interface CountOptions {
  readonly identifier: string
  readonly path: string
  readonly lookbackMs: number
  readonly delayMs: number
  readonly count: number
  readonly pattern: string
  readonly revertPattern: string | undefined
}

/** Returns the options, or the problems with them. */
export function countOptions(args: readonly string[]): CountOptions | string {
  const flags = parseFlags(args)
  const of = (name: string): string | undefined => flags.get(name)?.at(-1)
  const [identifier, pattern, revertPattern] = [of('journald-source'), of('pattern'), of('revert-pattern')]
  if (identifier === undefined) return '--journald-source is missing'
  if (pattern === undefined) return '--pattern is missing'
  const problem =
    logPatternProblem(pattern) ?? (revertPattern === undefined ? undefined : logPatternProblem(revertPattern))
  if (problem !== undefined) return problem
  const path = of('log-path') ?? ''
  if (climbs(path)) return '--log-path has a part ..'
  return {
    identifier,
    path,
    lookbackMs: durationMs(of('lookback') ?? '') ?? 0,
    delayMs: durationMs(of('delay') ?? '') ?? 0,
    count: Number(of('count') ?? 1),
    pattern,
    revertPattern,
  }
}

/** Same as node-problem-detector's buffer. */
const BUFFER = 1_000

export class LineCount {
  readonly #matcher: LogMatcher
  count = 0

  constructor({ pattern, revertPattern }: CountOptions) {
    this.#matcher = new LogMatcher(revertPattern === undefined ? [pattern] : [pattern, revertPattern], BUFFER)
  }

  take(message: string): void {
    for (const { rule } of this.#matcher.push(message)) this.count += rule === 0 ? 1 : -1
  }
}

export const countResult = (found: number, { count }: CountOptions): PluginResult =>
  found >= count
    ? { status: 'NonOk', message: `Found ${found} matching logs, which meets the threshold of ${count}` }
    : { status: 'Ok', message: '' }

export function countLines(options: CountOptions, sinceMs: number, timeoutMs: number): Promise<PluginResult> {
  const { path, identifier } = options
  const [program = '', ...args] = journalArguments({ path, identifiers: [identifier], sinceMs, follow: false })
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    })
    const lines = new LineCount(options)
    let state = NO_LINE
    child.stdout.on('data', (chunk: Buffer) => {
      const cut = cutLines(state, chunk)
      state = cut.state
      for (const line of cut.lines) {
        const entry = parseEntry(line)
        if (entry?.isTrusted === true) lines.take(entry.message)
      }
    })
    child.once('error', (e) => resolve({ status: 'Unknown', message: e.message, isNotStarted: true }))
    child.once('close', (code, signal) => {
      // journalctl exits with 1 both when there is no entry and on an error. Both count as nothing found; the monitors report a missing journal.
      if (signal !== null) resolve({ status: 'Unknown', message: `journalctl ended: ${signal}` })
      else if (code !== 0 && code !== 1) resolve({ status: 'Unknown', message: `journalctl ended: ${code}` })
      else resolve(countResult(lines.count, options))
    })
  })
}
