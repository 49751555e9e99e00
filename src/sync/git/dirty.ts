// Whether a work tree has changes below some folders that no commit holds, so that nobody wonders why they have no effect.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
const DEADLINE_MS = 5_000
const MAX_OUTPUT = 1024 * 1024

/** Paths of changed files; empty also where the git program is missing: this is a hint, nothing is decided by it. */
export async function uncommitted(
  workTree: string,
  folders: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const args = [
    '-c',
    'core.fsmonitor=false',
    '-c',
    'core.hooksPath=/dev/null',
    '--no-optional-locks',
    'status',
    '--porcelain',
    '--',
    ...folders,
  ]
  try {
    const { stdout } = await run('git', args, { cwd: workTree, env, timeout: DEADLINE_MS, maxBuffer: MAX_OUTPUT })
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.slice(3))
  } catch {
    return []
  }
}
