// Waits until this host's agent has joined, or returns the last error in its log, so that the user need not search for it.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Clock } from '#lib/clock.ts'

export interface AwaitJoined {
  /** The bundle file: the agent deletes it after it joined. */
  readonly joinFile: string
  readonly unit: string
  /** When the agent was started. */
  readonly since: number
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>
  readonly outputOf?: (program: string, args: readonly string[]) => string
}

/** A cluster answers within seconds; an approver that is restarting takes longer. */
const PATIENCE_MS = 60_000
const POLL_MS = 250
/** Number of log lines read: the log repeats itself. */
const LINES = 50

/** Undefined after the agent joined; otherwise the reason why not. */
export async function awaitJoined(wait: AwaitJoined): Promise<string | undefined> {
  const { joinFile, unit, since, clock, outputOf = output } = wait
  const until = clock.monotonic() + PATIENCE_MS
  for (;;) {
    if (!existsSync(joinFile)) return undefined
    const hasFailed = outputOf('systemctl', ['is-failed', unit]).trim() === 'failed'
    if (hasFailed || clock.monotonic() >= until) {
      const args = ['-u', unit, '-n', String(LINES), '-o', 'cat', `--since=@${Math.floor(since / 1_000)}`]
      const otherwise = hasFailed ? 'it ended' : `no answer after ${PATIENCE_MS / 1_000}s`
      return lastError(outputOf('journalctl', args)) ?? otherwise
    }
    await clock.sleep(POLL_MS)
  }
}

/** The whole line, or the value of a field in a JSON line. */
const lastError = (log: string): string | undefined =>
  log
    .split('\n')
    .flatMap((line) => /^KN\d{4,5}: .*/.exec(line)?.[0] ?? inJson(line) ?? [])
    .at(-1)

const inJson = (line: string): string | undefined => /KN\d{4,5}: (?:\\.|[^"\\])+/.exec(line)?.[0].replaceAll('\\"', '"')

const output = (program: string, args: readonly string[]): string =>
  spawnSync(program, args, { encoding: 'utf8' }).stdout ?? ''
