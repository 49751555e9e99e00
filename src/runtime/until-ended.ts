// How a long-running program learns that it must stop.
import { env, exit } from 'node:process'
import type { Clock } from '#lib/clock.ts'
import { shutdownOn, type Shutdown } from './shutdown.ts'

/** Set by bin/kubenode. */
const IGNORES_HANGUP = 'KUBENODE_IGNORES_HANGUP'

export const untilEnded = (): Shutdown =>
  shutdownOn(process, { exit, ignoresHangup: env[IGNORES_HANGUP] !== undefined })

/** Leases are released by now; what remains are connections and child processes that nothing waits for. */
export const LEFTOVER_MS = 5_000

/**
 * Exits the process soon, with the exit code that it has by then. What still runs in a program whose roles have ended leads nothing: an open connection or a
 * child process would otherwise keep a process alive that no supervisor starts again. A process with nothing left exits earlier.
 */
export const exitSoon = (clock: Pick<Clock, 'after'>, end: () => void = exit): void =>
  void clock.after(LEFTOVER_MS, () => end())
