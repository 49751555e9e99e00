// `kubenode help COMMAND…`: shows a command's help. An unknown command is an error, with the closest match.
import type { Command } from 'commander'
import { didYouMean } from '#lib/did-you-mean.ts'
import type { Io } from '#lib/terminal/io.ts'

const isShown = (command: Command): boolean => !command.name().startsWith('__')

export function register(program: Command, io: Io): void {
  program
    .command('help')
    .description('show what a command does')
    .argument('[command...]', 'the words of the command')
    .action(async (words: readonly string[]) => {
      let command = program
      for (const [i, word] of words.entries()) {
        const found = command.commands.filter(isShown).find((c) => c.name() === word || c.aliases().includes(word))
        if (found === undefined) throw await refuse(command, words.slice(0, i), word)
        command = found
      }
      io.out(command.helpInformation())
    })
}

/** Same wording as for an unknown command. */
async function refuse(command: Command, path: readonly string[], word: string): Promise<never> {
  const { helpAdvice } = await import('../../advice.ts')
  const advice = helpAdvice(path, word)
  const near = didYouMean(
    word,
    command.commands.filter(isShown).map((c) => c.name()),
  )
  const hint = advice === undefined ? near && `Did you mean ${near}?` : advice
  return command.error(`error: unknown command '${word}'${hint === undefined ? '' : `\n(${hint})`}`, {
    code: 'commander.unknownCommand',
  })
}
