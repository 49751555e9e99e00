// What a command may touch of the outside world, handed in so that tests can watch it.

import { lineWriter } from '#lib/line-writer.ts'

export interface Io {
  /** Data: what another program may read. */
  out(text: string): void
  /** Progress, hints and errors: what a person reads. */
  err(text: string): void
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly isTerminal: boolean
}

export const processIo = (): Io => ({
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  cwd: process.cwd(),
  env: process.env,
  isTerminal: process.stdout.isTTY,
})

/** A line of a server that another program may read. Nobody has to: the server goes on when it cannot be written. */
export const announce = (line: string): void => lineWriter(1, () => '').write(line)
