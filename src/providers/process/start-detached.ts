// Starts a process that outlives this one, in its own session: it does not get this process's signals or the hangup of its terminal.
import { spawn } from 'node:child_process'
import { type ProcessId, identify } from './proc.ts'

export interface DetachedStart {
  readonly cwd: string
  /** The complete environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>
  /** A descriptor for its output. */
  readonly log: number
}

/** Undefined if it exited at once. */
export async function startDetached(
  file: string,
  args: readonly string[],
  { cwd, env, log }: DetachedStart,
): Promise<ProcessId | undefined> {
  const child = spawn(file, args, { cwd, env, detached: true, stdio: ['ignore', log, log] })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  child.unref()
  return child.pid === undefined ? undefined : identify(child.pid)
}
