// Pure: how a process ended, and whether that is evidence against its version. A kill from outside is not; the process's own crash is.
import type { UnitState } from './systemd/systemctl.ts'

export interface ProcessEnd {
  /** Completes "the component …": `exited with code 1`. */
  readonly how: string
  /** False: ended from outside, or in a way that could not be observed. */
  readonly isEvidence: boolean
}

/** Signals that users, the kernel's OOM killer and other programs use to kill processes. */
const FROM_OUTSIDE: ReadonlySet<string> = new Set(['SIGTERM', 'SIGKILL'])
/** A program that catches SIGTERM exits with 0 or 143; a shell passes on its child's signal as 128 + number. */
const ORDERLY_CODES: ReadonlySet<number> = new Set([0, 137, 143])

/** Both are null for a process that a previous agent started: its end is visible, its exit code is not. */
export function endOfProcess(code: number | null, signal: string | null): ProcessEnd {
  if (signal !== null) return { how: `ended by ${signal}`, isEvidence: !FROM_OUTSIDE.has(signal) }
  if (code === null) return { how: 'ended while the agent was not running', isEvidence: false }
  return { how: `exited with code ${code}`, isEvidence: !ORDERLY_CODES.has(code) }
}

/** systemd: `exitStatus` is the number of the signal when the result is one. */
const SIGNAL_NAMES: Readonly<Record<number, string>> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  13: 'SIGPIPE',
  15: 'SIGTERM',
}

export function endOfUnit({ result, exitStatus, hasMemoryLimit }: UnitState): ProcessEnd {
  const name = SIGNAL_NAMES[exitStatus] ?? `signal ${exitStatus}`
  switch (result) {
    case 'signal':
      return endOfProcess(null, name)
    case 'core-dump':
      return { how: `ended by ${name} with a core dump`, isEvidence: true }
    case 'exit-code':
      return endOfProcess(exitStatus, null)
    case 'oom-kill':
      return hasMemoryLimit
        ? { how: 'killed at its memory limit', isEvidence: true }
        : { how: 'killed because the node ran out of memory', isEvidence: false }
    case 'success':
    case '':
      // Exited normally, stopped by a user, or restarted by systemd before the agent could read how it ended. systemd counts SIGTERM as normal.
      return { how: name === 'SIGTERM' ? `ended by ${name}` : 'ended', isEvidence: false }
    default:
      // timeout, watchdog, protocol, resources, start-limit-hit …: the unit did not behave as it declares.
      return { how: `failed (systemd: ${result})`, isEvidence: true }
  }
}
