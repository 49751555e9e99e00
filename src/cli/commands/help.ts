// `kubenode help COMMAND…`: what a command does. Help for what does not exist is an error, with the command that was probably meant.
import type { Command } from 'commander'
import { didYouMean } from '#lib/did-you-mean.ts'
import type { Io } from '../io.ts'

const isShown = (command: Command): boolean => !command.name().startsWith('__')

export function register(program: Command, io: Io): void {
  program
    .command('help')
    .description('show what a command does')
    .argument('[command...]', 'the words of the command')
    .action((words: readonly string[]) => {
      let command = program
      for (const word of words) {
        const found = command.commands.filter(isShown).find((c) => c.name() === word || c.aliases().includes(word))
        if (found === undefined) refuse(command, word)
        command = found
      }
      io.out(command.helpInformation())
    })
}

/** In the words of an unknown command. */
function refuse(command: Command, word: string): never {
  const near = didYouMean(
    word,
    command.commands.filter(isShown).map((c) => c.name()),
  )
  const hint = near === undefined ? '' : `\n(Did you mean ${near}?)`
  return command.error(`error: unknown command '${word}'${hint}`, { code: 'commander.unknownCommand' })
}
