// Makes the outline from the commands and kinds themselves. Only `npm run gen` and its test run this.
import type { Argument, Command, Option } from 'commander'
import { KINDS } from '#api/kinds.ts'
import { buildProgram } from '#cli/program.ts'
import type { Outline, OutlinedArgument, OutlinedCommand, OutlinedOption } from '#cli/outline/outline.ts'
import { defined } from '#lib/defined.ts'

export const OUTLINE_FILE = 'src/cli/outline/outline.json'

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
  return `{\n${Object.entries<readonly unknown[]>({ ...outline })
    .map(linesOf)
    .join(',\n')}\n}\n`
}

/** Each command, kind and option of the program on a line of its own, so that a change of one is a line of a diff. */
const linesOf = ([name, list]: readonly [string, readonly unknown[]]): string =>
  `${JSON.stringify(name)}: [\n${list.map((one) => JSON.stringify(one)).join(',\n')}\n]`

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
