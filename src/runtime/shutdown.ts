// Turns SIGTERM and SIGINT into one signal to drain; the second one ends the process at once, since a person means it.

/** The part of `process` that is needed here. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown
  off(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown
}

export interface Shutdown {
  readonly signal: AbortSignal
  /** 143 or 130, by what was received; 0 before. */
  exitCode(): number
  /** Stops listening. */
  dispose(): void
}

const EXIT_CODES = { SIGTERM: 143, SIGINT: 130 } as const

export function shutdownOn(source: SignalSource, exit: (code: number) => void): Shutdown {
  const abort = new AbortController()
  let exitCode = 0
  const on = (name: keyof typeof EXIT_CODES) => () => {
    if (abort.signal.aborted) return exit(EXIT_CODES[name])
    exitCode = EXIT_CODES[name]
    abort.abort(name)
  }
  const onTerm = on('SIGTERM')
  const onInt = on('SIGINT')
  source.on('SIGTERM', onTerm)
  source.on('SIGINT', onInt)
  return {
    signal: abort.signal,
    exitCode: () => exitCode,
    dispose: () => {
      source.off('SIGTERM', onTerm)
      source.off('SIGINT', onInt)
    },
  }
}
