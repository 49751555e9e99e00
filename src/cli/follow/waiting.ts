// Options of commands that can wait for an end: the time limit, and which options conflict. Mistakes are reported before any request.
import type { Command } from 'commander'
import { parseDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { getErrors } from '../get/get-errors.ts'

export interface WaitOptions {
  readonly watch?: boolean
  readonly timeout?: string
  readonly output?: string
}

export const withWait = (command: Command): Command =>
  command
    .option('-w, --watch', 'follow it until it is done: 0, or 1 when it failed')
    .option('--timeout <duration>', 'how long to follow it; then 1, and it continues')

/** Undefined: show it once. */
export function waitOf({ watch, timeout, output }: WaitOptions): { readonly timeoutMs?: number } | undefined {
  const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout)
  if (watch !== true && timeoutMs === undefined) return undefined
  if (output !== undefined)
    throw new KubeNodeError(
      getErrors.KN1002_combined({ one: watch === true ? '--watch' : '--timeout', other: '--output' }),
    )
  return timeoutMs === undefined ? {} : { timeoutMs }
}
