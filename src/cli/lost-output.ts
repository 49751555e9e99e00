// Handles output that cannot be written: a full disk, a closed terminal, a reader that exited.
import type { EventEmitter } from 'node:events'
import { numbered } from '#lib/errors.ts'
import { cliErrors } from './cli-errors.ts'
import { EXIT_ERROR, EXIT_OK } from './exit.ts'

/** The part of `process` that is needed here. */
export interface Outputs {
  readonly stdout: Pick<EventEmitter, 'on'>
  readonly stderr: Pick<EventEmitter, 'on'> & { write(text: string): unknown }
  exitCode?: number | string | null | undefined
  exit(code: number): unknown
  on(event: 'exit', listener: (code: number) => void): unknown
}

export function surviveLostOutput(process: Outputs): void {
  // Progress, hints and log lines: losing them ends nothing.
  process.stderr.on('error', () => undefined)
  let isLost = false
  process.on('exit', (code) => {
    if (isLost && code === EXIT_OK) process.exitCode = EXIT_ERROR
  })
  process.stdout.on('error', (e: NodeJS.ErrnoException) => {
    // The reader of a pipe may leave early (`kubenode … | head`); that is no error.
    if (e.code === 'EPIPE') process.exit(EXIT_OK)
    if (!isLost) process.stderr.write(`${numbered(cliErrors.KN1005({ why: e.message }))}\n`)
    isLost = true
  })
}
