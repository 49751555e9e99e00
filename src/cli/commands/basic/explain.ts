// `kubenode explain NUMBER|REASON`: the cause of an error, what to check and what to do; or what a reason in a status means, and what ends it.
import type { Command } from 'commander'
import { type ErrorCode, KubeNodeError } from '#lib/errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { cliErrors } from '../../cli-errors.ts'

/** As people paste it: with or without letters, or with a trailing colon. */
const NUMBER = /^(?:KN)?(\d{4,5}):?$/i

async function explain(word: string, io: Io): Promise<void> {
  const { reasonLines } = await import('#explain/reason-lines.ts')
  const reason = reasonLines(word)
  if (reason !== undefined) return shown(reason, io)
  const { ADVICE, ERROR_PARTS } = await import('#explain/errors/numbers.ts')
  const number = NUMBER.exec(word)?.[1]
  if (number === undefined) throw new KubeNodeError(cliErrors.KN1733({ word: JSON.stringify(word) }))
  const advised = ADVICE[`KN${number}` as ErrorCode]
  if (advised === undefined) throw new KubeNodeError(cliErrors.KN1733_number({ number }))
  const { cause, check, do: todo } = advised
  const part = ERROR_PARTS[Math.floor(Number(number) / 1_000)] ?? ''
  await shown(
    [
      `KN${number} (${part})`,
      '',
      `Cause: ${cause}`,
      `Check: ${check}`,
      `Do: ${todo}`,
      '',
      'All errors: docs/reference/errors.md',
    ],
    io,
  )
}

async function shown(lines: readonly string[], io: Io): Promise<void> {
  const [{ shownInWindow }, { withPages }] = await Promise.all([
    import('#lib/terminal/wrap.ts'),
    import('#lib/terminal/pages.ts'),
  ])
  io.out(
    shownInWindow(
      io,
      lines.map((line) => withPages(line, io.cwd)),
    ),
  )
}

export function register(program: Command, io: Io): void {
  program
    .command('explain')
    .description('explain a numbered error or a reason: its cause, what to check, and what to do')
    .argument('<number>', 'number of the error, such as KN1120, or reason in a status, such as RateExceeded')
    .action((word: string) => explain(word, io))
}
