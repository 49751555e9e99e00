// A command's access to the outside world, passed in so that tests can observe it.

import type { Readable } from 'node:stream'
import { lineWriter } from '../line-writer.ts'

export interface Io {
  /** Data for other programs. */
  out(text: string): void
  /** Progress and hints for users; hidden by --quiet. */
  err(text: string): void
  /** What a user must see even with --quiet, in addition to the data: problems. `err` if left out. */
  problem?(text: string): void
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly isTerminal: boolean
  /** Columns of the terminal behind `out`, read each time because windows change. Undefined in a pipe, where nothing is shortened. */
  readonly width?: () => number | undefined
  /** Columns of the terminal behind `err`; undefined if it is not one. */
  readonly errWidth?: () => number | undefined
  /** The value of --color. */
  readonly color?: 'auto' | 'always' | 'never'
  /** Aborts when a command that follows changes should end because its reader exited. */
  readonly signal?: AbortSignal
  /** What a pipe brings, for a command that reads `-`. Undefined at a terminal. */
  readonly input?: () => Readable
  /** Reads one line from the user; undefined without a terminal. */
  readonly ask?: (question: string) => Promise<string>
}

/** A server's line for other programs. Optional: the server continues if it cannot be written. */
export const announce = (line: string): void => lineWriter(1, () => '').write(line)

/** Shows a problem, even with --quiet. */
export const showProblem = (io: Io, text: string): void => (io.problem === undefined ? io.err(text) : io.problem(text))
