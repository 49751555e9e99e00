// How `kubenode --help` lists commands: in groups as kubectl does, most used first, one short line each.
import { type Command, Help } from 'commander'
import { COMMAND_GROUPS } from './command-list.ts'

const PLACES = COMMAND_GROUPS.flatMap(({ title, commands }) =>
  Object.entries(commands).map(([name, { line }]) => ({ name, title, summary: line })),
)

export function groupCommands(program: Command): void {
  for (const { name, title, summary } of PLACES)
    program.commands
      .find((c) => c.name() === name)
      ?.helpGroup(title)
      .summary(summary)
}

const isRoot = (command: Command | null): boolean => command !== null && command.parent === null

const placeOf = (command: Command): number => PLACES.findIndex(({ name }) => name === command.name())

const MORE = '\nRun kubenode COMMAND --help for more about a command.\n'

/** For the top-level list. Subcommands keep their registration order. */
export const groupedHelp: Partial<Help> = {
  visibleCommands(command) {
    const visible = Help.prototype.visibleCommands.call(this, command)
    return isRoot(command) ? visible.toSorted((a, b) => placeOf(a) - placeOf(b)) : visible
  },
  // Commander orders groups by registration.
  groupItems: (_registered, visible, groupOf) => Help.prototype.groupItems(visible, visible, groupOf),
  subcommandTerm(command) {
    return isRoot(command.parent) ? command.name() : Help.prototype.subcommandTerm.call(this, command)
  },
  formatHelp(command, helper) {
    return `${Help.prototype.formatHelp.call(this, command, helper)}${isRoot(command) ? MORE : ''}`
  },
}
