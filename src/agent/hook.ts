// Runs a hook of a component: a program with arguments, no shell, for a bounded time.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { KubeNodeError } from '#lib/errors.ts'
import { onNode, type NodeDir } from './node-dir.ts'

const MAX_OUTPUT = 65_536
const SHOWN = 120

export const runHook =
  (dir: NodeDir, environment: Readonly<Record<string, string>>) =>
  (command: readonly string[], timeoutMs: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const [program = '', ...args] = command
      const own = onNode(dir, program)
      const options = {
        cwd: dir.root,
        timeout: timeoutMs,
        killSignal: 'SIGKILL',
        maxBuffer: MAX_OUTPUT,
        env: { ...environment },
      } as const
      execFile(existsSync(own) ? own : program, args, options, (error, stdout, stderr) => {
        if (error === null) return resolve()
        const said = `${stdout}${stderr}`.trim().slice(-SHOWN)
        const why = error.killed === true ? `no end within ${timeoutMs} ms` : `exited with ${String(error.code)}`
        return reject(new KubeNodeError('KN8033', `cannot run the hook ${program}: ${why}: ${said}`))
      })
    })
