// `kubenode completion SHELL`: prints a script that calls `kubenode __complete`, so it is never out of date.
import { Argument } from 'commander'
import type { Command } from 'commander'
import { SCRIPTS, SHELLS } from '../../complete/scripts.ts'
import type { Io } from '#lib/terminal/io.ts'

export function register(program: Command, io: Io): void {
  program
    .command('completion')
    .description(
      'print a completion script; add `source <(kubenode completion bash)` to ~/.bashrc, or for fish: kubenode completion fish | source',
    )
    .addArgument(new Argument('<shell>', 'for which shell').choices(SHELLS))
    .action((shell: (typeof SHELLS)[number]) => io.out(SCRIPTS[shell]))
}
