// Turns SIGTERM, SIGINT and SIGHUP into one signal to drain. A second SIGTERM or SIGINT exits at once: the user insists.
import type { Clock } from '#lib/clock.ts'

type Name = 'SIGTERM' | 'SIGINT' | 'SIGHUP'

/** The part of `process` that this file needs. */
export interface SignalSource {
  on(signal: Name, listener: () => void): unknown
  off(signal: Name, listener: () => void): unknown
}

export interface Shutdown {
  readonly signal: AbortSignal
  /** 143, 130 or 129 by the received signal; 0 before. */
  exitCode(): number
  /** Removes the handlers. */
  dispose(): void
}

export interface ShutdownOptions {
  /** Ends the process. */
  readonly exit: (code: number) => void
  readonly clock: Pick<Clock, 'monotonic'>
  /** SIGHUP was ignored at startup, as under nohup. Keep ignoring it, because Node resets that. */
  readonly ignoresHangup: boolean
}

const EXIT_CODES: Readonly<Record<Name, number>> = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 }

/** A terminal sends Ctrl-C to npm and to its script, and npm passes its copy on: these two are one. On a machine with much load npm takes some hundred milliseconds. */
const SAME_WITHIN_MS = 1_000

export function shutdownOn(source: SignalSource, { exit, clock, ignoresHangup }: ShutdownOptions): Shutdown {
  const abort = new AbortController()
  let exitCode = 0
  let drainedAt = 0
  const drain = (name: Name): void => {
    exitCode = EXIT_CODES[name]
    drainedAt = clock.monotonic()
    abort.abort(new Error(`ended by ${name}`))
  }
  const insist = (name: Name) => () => {
    const code = EXIT_CODES[name]
    if (!abort.signal.aborted) drain(name)
    else if (code !== exitCode || clock.monotonic() - drainedAt >= SAME_WITHIN_MS) exit(code)
  }
  const listeners: readonly (readonly [Name, () => void])[] = [
    ['SIGTERM', insist('SIGTERM')],
    ['SIGINT', insist('SIGINT')],
    // A closing terminal sends it more than once, and an ending session sends it after SIGTERM.
    ['SIGHUP', () => (ignoresHangup || abort.signal.aborted ? undefined : drain('SIGHUP'))],
  ]
  for (const [name, listener] of listeners) source.on(name, listener)
  return {
    signal: abort.signal,
    exitCode: () => exitCode,
    dispose: () => {
      for (const [name, listener] of listeners) source.off(name, listener)
    },
  }
}
