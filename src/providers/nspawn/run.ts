// Runs this host's programs with an argument list and no shell, bounded in time and output.
import { execFile } from 'node:child_process'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { providersErrors } from '../providers-errors.ts'

const TIMEOUT_MS = 30_000
const MOST_OUTPUT = 2 ** 20

export interface RunOptions {
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** Returns the output; throws with its last line if the program fails. */
export function run(file: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { timeoutMs = TIMEOUT_MS, signal } = options
  return new Promise((resolve, reject) => {
    execFile(
      file,
      [...args],
      {
        timeout: timeoutMs,
        killSignal: 'SIGKILL',
        maxBuffer: MOST_OUTPUT,
        env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' },
        ...defined({ signal }),
      },
      (error, stdout, stderr) => {
        if (error === null) return resolve(stdout)
        const last = stderr.trim().split('\n').at(-1) ?? ''
        reject(
          new KubeNodeError(
            providersErrors.KN11020_program({ file, detail: last === '' ? messageOf(error) : last.slice(0, 300) }),
            { retry: 'later', cause: error },
          ),
        )
      },
    )
  })
}
