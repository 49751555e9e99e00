// The outside world of a command running as a process: streams, folder, environment, and the user at the terminal.
import type { Io } from '#lib/terminal/io.ts'

async function askUser(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await lines.question(question)
  } finally {
    lines.close()
  }
}

/** For a terminal without a known size, as under `script`, which reports 0. */
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
  ...(process.stdin.isTTY ? { ask: askUser } : { input: () => process.stdin }),
})
