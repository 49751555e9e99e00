// Reads the state of a systemd service without querying the service: its state, its main process, and whether a signal stopped that process.
import { uptime } from 'node:os'
import { programOutput } from '../../program-output.ts'
import { isFrozenState, readStat } from '../../supervise/proc.ts'

export interface ServiceState {
  readonly isActive: boolean
  readonly state: string
  readonly mainPid: number
  /** Its main process is stopped by a signal. */
  readonly isFrozen: boolean
  /** Time since its last start; undefined when it never started. */
  readonly upMs: number | undefined
}

export const TIMEOUT_MS = 10_000
const MAX_OUTPUT = 65_536
export const ENVIRONMENT = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C' }

/** The end of a program's standard output if it succeeds within the time; undefined when it fails. */
export async function outputOf(
  program: string,
  args: readonly string[],
  { timeoutMs = TIMEOUT_MS, maxBytes = MAX_OUTPUT }: { readonly timeoutMs?: number; readonly maxBytes?: number } = {},
): Promise<string | undefined> {
  const { problem, stdout } = await programOutput({ program, args, timeoutMs, maxBytes, environment: ENVIRONMENT })
  return problem === undefined ? stdout.text : undefined
}

export async function serviceState(service: string): Promise<ServiceState | undefined> {
  const names = ['ActiveState', 'SubState', 'MainPID', 'InactiveExitTimestampMonotonic']
  const text = await outputOf('systemctl', ['show', `--property=${names.join(',')}`, '--', service])
  return text === undefined ? undefined : parseServiceState(text, (pid) => readStat(pid)?.state, uptime() * 1_000)
}

export function parseServiceState(
  text: string,
  stateOf: (pid: number) => string | undefined,
  nowMs: number,
): ServiceState {
  const fields = new Map(text.split('\n').map((l) => [l.slice(0, l.indexOf('=')), l.slice(l.indexOf('=') + 1)]))
  const mainPid = Number(fields.get('MainPID') ?? 0)
  const startedMs = Number(fields.get('InactiveExitTimestampMonotonic') ?? 0) / 1_000
  const active = fields.get('ActiveState') ?? 'unknown'
  return {
    isActive: active === 'active',
    state: `${active} (${fields.get('SubState') ?? ''})`,
    mainPid,
    isFrozen: mainPid > 0 && isFrozenState(stateOf(mainPid) ?? ''),
    upMs: startedMs > 0 ? Math.max(0, nowMs - startedMs) : undefined,
  }
}
