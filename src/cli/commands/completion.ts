// `kubenode completion SHELL`: a script that asks the program itself (`kubenode __complete`), so that it is never out of date.
import { Argument } from 'commander'
import type { Command } from 'commander'
import { printableLine } from '#lib/printable.ts'
import { SCRIPTS, SHELLS } from '../complete/scripts.ts'
import type { Io } from '../io.ts'

/** Longer lines are not completed. */
const MAX_LINE_CHARS = 16_384

export function register(program: Command, io: Io): void {
  program
    .command('completion')
    .description(
      'print a completion script; add `source <(kubenode completion bash)` to ~/.bashrc, or for fish: kubenode completion fish | source',
    )
    .addArgument(new Argument('<shell>', 'for which shell').choices(SHELLS))
    .action((shell: (typeof SHELLS)[number]) => io.out(SCRIPTS[shell]))
  program
    .command('__complete [words...]', { hidden: true })
    .option('--line <text>', 'the line of bash up to the cursor')
    .allowUnknownOption()
    .action((words: string[], { line }: { line?: string }) => complete(program, { words, line }, io))
}

interface Asked {
  readonly words: readonly string[]
  readonly line: string | undefined
}

async function complete(program: Command, { words, line }: Asked, io: Io): Promise<void> {
  if ((line ?? '').length > MAX_LINE_CHARS) return
  const [{ FILES, candidates }, { serverNames }, { shellWords }] = await Promise.all([
    import('../complete/candidates.ts'),
    import('../complete/names.ts'),
    import('../complete/typed.ts'),
  ])
  const typed = line === undefined ? words : shellWords(line).slice(1)
  const found = await candidates(program, typed, serverNames(io))
  // Bash splits words at these characters and replaces only what follows the last one.
  const kept = line === undefined ? 0 : (/^.*[=:]/.exec(typed.at(-1) ?? '')?.[0].length ?? 0)
  for (const candidate of found) {
    const word = printableLine(candidate.word)
    io.out(`${candidate === FILES ? word : word.slice(kept)}\t${printableLine(candidate.help)}\n`)
  }
}
