// A command's access to the outside world, passed in so that tests can observe it.

import { lineWriter } from '../line-writer.ts'

export interface Io {
  /** Data for other programs. */
  out(text: string): void
  /** Progress and hints for users; --quiet leaves them out. */
  err(text: string): void
  /** What a user must see also with --quiet, beside the data: problems that were found. `err` when left out. */
  problem?(text: string): void
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly isTerminal: boolean
  /** Columns of the terminal that `out` writes to, asked each time: windows change. Undefined in a pipe, where nothing is shortened. */
  readonly width?: () => number | undefined
  /** Of the terminal that `err` writes to; undefined when that is none. */
  readonly errWidth?: () => number | undefined
  /** What --color says. */
  readonly color?: 'auto' | 'always' | 'never'
  /** Aborted when a command that shows changes until Ctrl-C is to end: who read them has left. */
  readonly signal?: AbortSignal
  /** One line from the user; absent without a terminal. */
  readonly ask?: (question: string) => Promise<string>
}

/** A line of a server for other programs. It is optional: the server continues when it cannot be written. */
export const announce = (line: string): void => lineWriter(1, () => '').write(line)

/** A problem that was found is shown with --quiet too. */
export const showProblem = (io: Io, text: string): void => (io.problem === undefined ? io.err(text) : io.problem(text))
