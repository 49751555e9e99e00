// In a package there is no `kubenode` on the PATH: its commands start with npx. Advice then names the program as it was called, so that it can be pasted.
import type { Io } from '#lib/terminal/io.ts'
import { OUTLINE } from './outline/outline.ts'

const NAMES = OUTLINE.commands.map(({ name }) => RegExp.escape(name)).join('|')
const COMMAND = new RegExp(`(?<![\\w./-]|npx )kubenode (?=(?:${NAMES})\\b)`, 'g')

/** Commands whose result is for people: it ends in lines to type. */
const ADVISERS: ReadonlySet<string> = new Set(['why', 'plan', 'local'])

/** Changes hints, errors and advice. Data stays as it is. */
export function withNameAsCalled(io: Io, argv: readonly string[]): Io {
  // Set by npx and npm exec.
  if (io.env['npm_command'] !== 'exec') return io
  const asCalled = (text: string) => text.replaceAll(COMMAND, 'npx kubenode ')
  const isAdvice = ADVISERS.has(argv[0] ?? '') && !argv.some((word) => /^(-o|--output)/.test(word))
  return { ...io, err: (text) => io.err(asCalled(text)), out: (text) => io.out(isAdvice ? asCalled(text) : text) }
}
