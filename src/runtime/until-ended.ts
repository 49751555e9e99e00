// Signals a long-running program to stop.
import { env, exit } from 'node:process'
import type { Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { shutdownOn, type Shutdown } from './shutdown.ts'

/** Set by bin/kubenode. */
const IGNORES_HANGUP = 'KUBENODE_IGNORES_HANGUP'

export const untilEnded = (): Shutdown =>
  shutdownOn(process, { exit, clock: systemClock, ignoresHangup: env[IGNORES_HANGUP] !== undefined })

/** Leases are released by now. What remains are connections and child processes without a waiter. */
export const LEFTOVER_MS = 5_000

/**
 * Exits the process soon, with its exit code at that time. Once a program's roles have ended it leads nothing, but an open connection or child process could
 * keep it alive, and its supervisor would not restart it. A process with nothing left exits earlier.
 */
export const exitSoon = (clock: Pick<Clock, 'after'>, end: () => void = exit): void =>
  void clock.after(LEFTOVER_MS, () => end())
