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

async function askUser(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await lines.question(question)
  } finally {
    lines.close()
  }
}

/** Of a terminal without a known size, as under `script`, which reports 0. */
const USUAL_WIDTH = 80

const widthOf = (stream: NodeJS.WriteStream): number | undefined =>
  stream.isTTY ? stream.columns || USUAL_WIDTH : undefined

export const processIo = (signal: AbortSignal): Io => ({
  signal,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  cwd: process.cwd(),
  env: process.env,
  isTerminal: process.stdout.isTTY,
  width: () => widthOf(process.stdout),
  errWidth: () => widthOf(process.stderr),
  ...(process.stdin.isTTY && { ask: askUser }),
})

/** A line of a server for other programs. It is optional: the server continues when it cannot be written. */
export const announce = (line: string): void => lineWriter(1, () => '').write(line)

/** A problem that was found is shown with --quiet too. */
export const showProblem = (io: Io, text: string): void => (io.problem === undefined ? io.err(text) : io.problem(text))
