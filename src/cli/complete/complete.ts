// `kubenode __complete`: prints what may follow the words of a line, one candidate per line with its help after a tab. Runs on each press of Tab, so it loads
// no command.
import { printableLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { FILES, candidates } from './candidates.ts'
import { serverNames } from './names.ts'
import { shellWords } from './typed.ts'

/** Longer lines are not completed. */
const MAX_LINE_CHARS = 16_384

/** `--line TEXT`, bash's line up to the cursor, or `-- WORD…`. */
export async function complete(argv: readonly string[], io: Io): Promise<void> {
  const isLine = argv[0] === '--line'
  const [, line = ''] = argv
  if (isLine && line.length > MAX_LINE_CHARS) return
  const words = isLine ? shellWords(line).slice(1) : argv.slice(1)
  const found = await candidates(words, serverNames(io))
  // Bash splits words at these characters and replaces only the part after the last one.
  const kept = isLine ? (/^.*[=:]/.exec(words.at(-1) ?? '')?.[0].length ?? 0) : 0
  for (const candidate of found) {
    const word = printableLine(candidate.word)
    io.out(`${candidate === FILES ? word : word.slice(kept)}\t${printableLine(candidate.help)}\n`)
  }
}
