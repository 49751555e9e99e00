// A command's access to the outside world, passed in so that tests can observe it.

import { lineWriter } from '#lib/line-writer.ts'

export interface Io {
  /** Data for other programs. */
  out(text: string): void
  /** Progress, hints and errors for users. */
  err(text: string): void
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly isTerminal: boolean
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

export const processIo = (): Io => ({
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  cwd: process.cwd(),
  env: process.env,
  isTerminal: process.stdout.isTTY,
  ...(process.stdin.isTTY && { ask: askUser }),
})

/** A line of a server for other programs. It is optional: the server continues when it cannot be written. */
export const announce = (line: string): void => lineWriter(1, () => '').write(line)
