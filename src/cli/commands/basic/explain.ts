// `kubenode explain NUMBER`: what an error means and what to do, from the table that the error was made from.
import type { Command } from 'commander'
import { KubeNodeError } from '#lib/errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { cliErrors } from '../../cli-errors.ts'

/** As people copy it: with or without the letters, with the colon behind it. */
const NUMBER = /^(?:KN)?(\d{4,5}):?$/i

async function explain(word: string, io: Io): Promise<void> {
  const [{ ERROR_PARTS, entriesOf }, { shownInWindow }] = await Promise.all([
    import('../../error-parts.ts'),
    import('#lib/terminal/wrap.ts'),
  ])
  const number = NUMBER.exec(word)?.[1]
  if (number === undefined) throw new KubeNodeError(cliErrors.KN1733({ word: JSON.stringify(word) }))
  for (const part of ERROR_PARTS) {
    const found = entriesOf(part).find(({ code }) => code === `KN${number}`)
    if (found === undefined) continue
    const { code, text, next } = found
    io.out(
      shownInWindow(io, [`${code} (${part.name})`, '', `Message: ${text}`, `What to do: ${next}`, '', PLACEHOLDERS]),
    )
    return
  }
  throw new KubeNodeError(cliErrors.KN1734({ number }))
}

const PLACEHOLDERS = 'Words in braces are values that were observed. All errors: docs/reference/errors.md'

export function register(program: Command, io: Io): void {
  program
    .command('explain')
    .description('explain a numbered error: what it means, and what to do')
    .argument('<number>', 'number of the error, such as KN1121')
    .action((word: string) => explain(word, io))
}
