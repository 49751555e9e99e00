// Runs git for the local fleet, without the user's hooks and bounded in time and output.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { KubeNodeError } from '#lib/errors.ts'
import { localErrors } from './local-errors.ts'

const run = promisify(execFile)
const GIT_TIMEOUT_MS = 60_000
const NO_HOOKS = ['-c', 'core.hooksPath=/dev/null'] as const

export async function git(cwd: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run('git', [...NO_HOOKS, ...args], {
      cwd,
      timeout: GIT_TIMEOUT_MS,
      maxBuffer: 16 * 1024 * 1024,
    })
    return stdout.trim()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    // A missing program and a missing working folder give the same error.
    const what = existsSync(cwd) ? localErrors.KN1208() : localErrors.KN1222({ folder: cwd })
    throw new KubeNodeError(what, { cause })
  }
}

/** Creates any number of commits in one process. */
export async function fastImport(cwd: string, stream: Buffer): Promise<void> {
  const child = spawn('git', [...NO_HOOKS, 'fast-import', '--quiet'], {
    cwd,
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout: GIT_TIMEOUT_MS,
  })
  let output = ''
  child.stderr.on('data', (d: Buffer) => (output = `${output}${d.toString()}`.slice(-1_000)))
  // If git exits early, its own output explains why.
  child.stdin.on('error', () => undefined)
  child.stdin.end(stream)
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`git fast-import ended with ${code}: ${output}`)
}
