// The page of all commands, from the command tree itself: what each does, its arguments and its options.
import type { Argument, Command, Option } from 'commander'
import { code, join, table } from '#api/gen/markdown.ts'
import { buildProgram } from '#cli/program.ts'

export const COMMAND_PAGE = 'docs/reference/commands.md'

const SILENT = { out: () => undefined, err: () => undefined, cwd: '/', env: {}, isTerminal: false }

interface Leaf {
  readonly path: string
  readonly command: Command
}

const leavesBelow = (command: Command, path: readonly string[]): readonly Leaf[] =>
  command.commands
    .filter((c) => !c.name().startsWith('__') && c.description() !== '')
    .flatMap((c) => {
      const here = [...path, c.name()]
      return c.commands.length === 0 ? [{ path: here.join(' '), command: c }] : leavesBelow(c, here)
    })

export async function commandPage(): Promise<string> {
  const program = await buildProgram(SILENT)
  const leaves = leavesBelow(program, []).toSorted((a, b) => (a.path < b.path ? -1 : 1))
  return join([
    '# Commands',
    '<!-- Generated from src/cli by npm run gen. -->',
    'What they have in common: [the command line](../tasks/command-line.md).',
    table(
      ['command', 'what it does'],
      leaves.map(({ path, command }) => [`[${path}](#${anchorOf(path)})`, command.description()]),
    ),
    '## Options of every command',
    optionTable(program.options),
    ...leaves.flatMap(section),
  ])
}

const anchorOf = (path: string): string => `kubenode-${path.replaceAll(' ', '-')}`

function section({ path, command }: Leaf): readonly string[] {
  const options = command.options.filter((o) => !o.hidden)
  const { registeredArguments } = command
  const usage = [
    'kubenode',
    path,
    ...registeredArguments.map(argumentText),
    ...(options.length > 0 ? ['[options]'] : []),
  ]
  return [
    `## kubenode ${path}`,
    `${capital(command.description())}.${alsoCalled(command.aliases())}`,
    `\`\`\`\n${usage.join(' ')}\n\`\`\``,
    registeredArguments.length === 0
      ? ''
      : table(
          ['argument', 'meaning'],
          registeredArguments.map((a) => [code(a.name()), a.description]),
        ),
    options.length === 0 ? '' : optionTable(options),
  ]
}

const alsoCalled = (aliases: readonly string[]): string =>
  aliases.length === 0 ? '' : ` Also called ${aliases.map(code).join(', ')}.`

function argumentText(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`
  return argument.required ? `<${name}>` : `[${name}]`
}

const optionTable = (options: readonly Option[]): string =>
  table(
    ['option', 'meaning'],
    options.map((o) => [o.flags, `${o.description}${detailOf(o)}`]),
  )

function detailOf({ mandatory, argChoices, defaultValue }: Option): string {
  const value: unknown = defaultValue
  const details = [
    ...(mandatory ? ['required'] : []),
    ...(argChoices === undefined ? [] : [`one of ${argChoices.join(', ')}`]),
    ...(typeof value === 'string' || typeof value === 'number' ? [`default ${value}`] : []),
  ]
  return details.length === 0 ? '' : ` (${details.join('; ')})`
}

const capital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
