// Handles output that cannot be written: a full disk, a closed terminal, a reader that exited. The exit code stays the command's.
import type { EventEmitter } from 'node:events'
import { numbered } from '#lib/errors.ts'
import { cliErrors } from './cli-errors.ts'
import { EXIT_ERROR, EXIT_OK } from '#lib/terminal/exit.ts'

/** The part of `process` that this file needs. */
export interface Outputs {
  readonly stdout: Pick<EventEmitter, 'on'>
  readonly stderr: Pick<EventEmitter, 'on'> & { write(text: string): unknown }
  exitCode?: number | string | null | undefined
  on(event: 'exit', listener: (code: number) => void): unknown
}

/**
 * The signal aborts when the reader of a pipe exits (`kubenode … | head`), which is not an error. A command that ends on its own still runs to the end, because
 * its exit code may be a verdict; a command that only follows changes stops.
 */
export function surviveLostOutput(process: Outputs): AbortSignal {
  const readerLeft = new AbortController()
  // Progress, hints and log lines: losing them stops nothing.
  process.stderr.on('error', () => undefined)
  let isLost = false
  process.on('exit', (code) => {
    if (isLost && code === EXIT_OK) process.exitCode = EXIT_ERROR
  })
  process.stdout.on('error', (e: NodeJS.ErrnoException) => {
    if (e.code === 'EPIPE') {
      readerLeft.abort(new Error('the reader of standard output has exited'))
      return
    }
    if (!isLost) process.stderr.write(`${numbered(cliErrors.KN1005({ why: e.message }))}\n`)
    isLost = true
  })
  return readerLeft.signal
}
