// The outline, from the commands and kinds themselves.
import type { Argument, Command, Option } from 'commander'
import { KINDS } from '#api/kinds.ts'
import { buildProgram } from '#cli/program.ts'
import type { Outline, OutlinedArgument, OutlinedCommand, OutlinedOption } from '#cli/outline/outline.ts'
import { defined } from '#lib/defined.ts'

const SILENT = { out: () => undefined, err: () => undefined, cwd: '/', env: {}, isTerminal: false }

export async function outlineText(): Promise<string> {
  const program = await buildProgram(SILENT)
  const outline: Outline = {
    options: program.options.map(optionOf),
    commands: program.commands.map(commandOf).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    kinds: KINDS.map(({ group, version, kind, plural, namespaced, shortName, definition }) => ({
      group,
      version,
      kind,
      plural,
      namespaced,
      shortName,
      help: firstSentence(definition.doc),
    })),
  }
  return `${JSON.stringify(outline)}\n`
}

/** It says what a kind is. */
const firstSentence = (doc: string): string => doc.split(/[.;:](?: |$)/, 1)[0] ?? ''

const commandOf = (command: Command): OutlinedCommand => ({
  name: command.name(),
  aliases: command.aliases(),
  help: command.description(),
  isHidden: !command
    .createHelp()
    .visibleCommands(command.parent ?? command)
    .includes(command),
  arguments: command.registeredArguments.map(argumentOf),
  options: command.options.map(optionOf),
  commands: command.commands.map(commandOf),
})

function argumentOf(argument: Argument): OutlinedArgument {
  const { required, variadic, argChoices } = argument
  const name = `${argument.name()}${variadic ? '...' : ''}`
  return {
    usage: required ? `<${name}>` : `[${name}]`,
    isVariadic: variadic,
    ...defined({ choices: argChoices }),
  }
}

const optionOf = ({
  flags,
  long,
  short,
  description,
  required,
  optional,
  hidden,
  argChoices,
  envVar,
}: Option): OutlinedOption => ({
  flags,
  long: long ?? short ?? '',
  ...defined({ short }),
  help: description,
  takesValue: required || optional,
  isHidden: hidden,
  ...defined({ choices: argChoices, variable: envVar }),
})
