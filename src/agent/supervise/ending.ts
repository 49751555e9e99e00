// Ends processes reliably: TERM, a grace period, KILL. Also ends processes stopped by a signal.
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { livingStat, send, type ProcessId } from './proc.ts'
import { agentErrors } from '../agent-errors.ts'

export const GRACE_MS = 10_000
/** After KILL the kernel needs a moment; a process that hangs in the kernel takes longer than the agent can wait. */
const KILL_WAIT_MS = 5_000
const POLL_MS = 25

/** Returns false if a process is left even then. */
export async function terminate(clock: Clock, processes: readonly ProcessId[], graceMs: number): Promise<boolean> {
  const all = (signal: NodeJS.Signals): void => {
    for (const p of processes) if (livingStat(p) !== undefined) send(p.pid, signal)
  }
  all('SIGTERM')
  // A stopped process cannot handle TERM until it is continued.
  all('SIGCONT')
  if (await haveEndedWithin(clock, processes, graceMs)) return true
  all('SIGKILL')
  return haveEndedWithin(clock, processes, KILL_WAIT_MS)
}

async function haveEndedWithin(clock: Clock, processes: readonly ProcessId[], ms: number): Promise<boolean> {
  const until = clock.monotonic() + ms
  while (processes.some((p) => livingStat(p) !== undefined)) {
    if (clock.monotonic() >= until) return false
    await clock.sleep(POLL_MS)
  }
  return true
}

export const hangs = (component: string, pid: number) =>
  new KubeNodeError(agentErrors.KN8031({ component, pid }), { retry: 'later' })
