// Queries systemd: one short-lived process per query, so callers check /proc first and query only after a change.
import { execFile } from 'node:child_process'
import { KubeNodeError } from '#lib/errors.ts'
import { agentErrors } from '../../agent-errors.ts'

export interface UnitState {
  readonly unit: string
  /** loaded, not-found, masked … */
  readonly load: string
  /** active, inactive, failed, activating … */
  readonly active: string
  /** running, dead, auto-restart … */
  readonly sub: string
  readonly mainPid: number
  readonly restarts: number
  /** success, exit-code, signal, timeout … */
  readonly result: string
  /** enabled, disabled, static … */
  readonly file: string
  readonly path: string
  readonly needsReload: boolean
  /** Exit code of the main process, or the number of the signal that ended it. */
  readonly exitStatus: number
  /** The unit sets a memory limit. */
  readonly hasMemoryLimit: boolean
}

export interface Systemctl {
  show(units: readonly string[]): Promise<readonly UnitState[]>
  /** Throws when systemd refuses. */
  run(...args: readonly string[]): Promise<void>
}

export const PROPERTIES =
  'Id,LoadState,ActiveState,SubState,MainPID,NRestarts,Result,UnitFileState,FragmentPath,NeedDaemonReload,ExecMainStatus,MemoryMax'
/** systemd before 254 prints this for infinity. */
const NO_LIMIT = '18446744073709551615'
/** Longer than a foreign unit without a setting may take to stop or start: systemd gives it 90 s. */
export const UNIT_WITHIN_MS = 120_000

/** Blocks of `Name=value`, separated by empty lines, in the requested order. */
export const parseShow = (text: string, units: readonly string[]): readonly UnitState[] =>
  text
    .trim()
    .split(/\n\n+/)
    .map((block, n) => {
      const at = new Map(
        block.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
      )
      const of = (name: string): string => at.get(name) ?? ''
      return {
        unit: units[n] ?? of('Id'),
        load: of('LoadState'),
        active: of('ActiveState'),
        sub: of('SubState'),
        mainPid: Number(of('MainPID')),
        restarts: Number(of('NRestarts')),
        result: of('Result'),
        file: of('UnitFileState'),
        path: of('FragmentPath'),
        needsReload: of('NeedDaemonReload') === 'yes',
        exitStatus: Number(of('ExecMainStatus')),
        hasMemoryLimit: /^\d+$/.test(of('MemoryMax')) && of('MemoryMax') !== NO_LIMIT,
      }
    })

/** `command` differs from systemctl when a test reaches into a machine. */
export function createSystemctl(command: readonly [string, ...string[]] = ['systemctl']): Systemctl {
  const [program, ...before] = command
  const ask = (args: readonly string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      const options = {
        timeout: UNIT_WITHIN_MS,
        killSignal: 'SIGKILL',
        env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8' },
      } as const
      execFile(program, [...before, ...args], options, (error, stdout, stderr) => {
        if (error === null) return resolve(stdout)
        return reject(
          new KubeNodeError(
            agentErrors.KN8037({ command: args.join(' '), answer: (stderr || error.message).trim().slice(0, 160) }),
            { retry: 'later' },
          ),
        )
      })
    })
  return {
    show: async (units) =>
      units.length === 0 ? [] : parseShow(await ask(['show', '-p', PROPERTIES, '--', ...units]), units),
    run: async (...args) => {
      await ask(args)
    },
  }
}
