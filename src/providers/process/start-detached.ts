// Starts a process that outlives us, in a session of its own: signals meant for us, and the end of our terminal, do not reach it.
import { spawn } from 'node:child_process'
import { type ProcessId, identify } from './proc.ts'

export interface DetachedStart {
  readonly cwd: string
  /** The whole environment; nothing is inherited from ours. */
  readonly env: Readonly<Record<string, string>>
  /** A descriptor for what it writes. */
  readonly log: number
}

/** Undefined when it ended at once. */
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
