// Command lines that need none of the commands: the version, and what a shell asks for while a line is typed.
import { EXIT_OK, reportError } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import { VERSION } from '#lib/program-version.ts'

/** The exit code, or undefined for what a command has to answer. */
export async function quickAnswer(argv: readonly string[], io: Io): Promise<number | undefined> {
  const [first, ...rest] = argv
  if (first === '__complete') {
    try {
      const { complete } = await import('./complete/complete.ts')
      await complete(rest, io)
      return EXIT_OK
    } catch (e) {
      return reportError(io, e)
    }
  }
  if (rest.length > 0 || (first !== '--version' && first !== '-V')) return undefined
  io.out(`kubenode ${VERSION}\n`)
  return EXIT_OK
}
