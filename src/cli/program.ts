// The command tree, built from the command list. Each invocation loads its own command's file; the outline provides the others.
import { Command, CommanderError, Help, Option } from 'commander'
import { readEnvironment } from './environment.ts'
import { withWrappedHints, wrapped } from '#lib/terminal/wrap.ts'
import { withPages, withPagesInHints } from '#lib/terminal/pages.ts'
import { EXIT_ERROR, EXIT_OK, reportError } from '#lib/terminal/exit.ts'
import { withAdvice } from './advice.ts'
import { withNameAsCalled } from './as-called.ts'
import { COMMAND_FILES } from './command-list.ts'
import { groupCommands, groupedHelp } from './help-groups.ts'
import { afterOptions, hoisted, withoutShortSigns } from './hoist.ts'
import type { Io } from '#lib/terminal/io.ts'
import { isCalled, OUTLINE, type OutlinedCommand } from './outline/outline.ts'
import { COLORS, hasColors, paintOf } from '#lib/terminal/paint.ts'
import { VERSION } from '#lib/program-version.ts'
import { cliErrors } from './cli-errors.ts'

/** Minimum width of the description column. In narrower windows descriptions go below their terms. */
const MIN_HELP_WIDTH = 20
const ITEM_INDENT = 2
const DESCRIPTION_INDENT = 6

/** One line of the help: an option and what it does. */
function narrowItem(this: Help, term: string, termWidth: number, description: string, helper: Help): string {
  const width = this.helpWidth ?? HELP_WIDTH
  if (width - termWidth - 2 * ITEM_INDENT >= MIN_HELP_WIDTH || description === '')
    return Help.prototype.formatItem.call(this, term, termWidth, description, helper)
  const indent = `\n${' '.repeat(DESCRIPTION_INDENT)}`
  const lines = wrapped(description, Math.max(MIN_HELP_WIDTH, width - DESCRIPTION_INDENT))
  return `${' '.repeat(ITEM_INDENT)}${term}${indent}${lines.map((line) => line.trim()).join(indent)}`
}

/** Every command, for tests and generated pages. */
export const buildProgram = (io: Io): Promise<Command> => programWith([...COMMAND_FILES.keys()], io)

/** Commands of these files can run; the rest have only names and help. */
async function programWith(names: readonly string[], io: Io): Promise<Command> {
  const loads = new Set(names.flatMap((name) => COMMAND_FILES.get(name) ?? []))
  const files = await Promise.all([...loads].map((load) => load()))
  const program = emptyProgram()
  const shown = ioFor(program, io)
  for (const file of files) file.register(program, shown)
  const registered = new Set(program.commands.map((c) => c.name()))
  for (const outlined of OUTLINE.commands) if (!registered.has(outlined.name)) addOutlined(program, outlined)
  groupCommands(program)
  prepare(program, io)
  readEnvironment(program, io.env)
  return program
}

/** Adds what the command list shows of a command. */
function addOutlined(program: Command, outlined: OutlinedCommand): void {
  const command = program.command(outlined.name, { hidden: outlined.isHidden }).description(outlined.help)
  command.aliases(outlined.aliases)
  for (const { usage } of outlined.arguments) command.argument(usage)
  for (const { flags } of outlined.options) command.option(flags)
  command.action(() => {
    throw new Error(`the file of kubenode ${outlined.name} is not loaded`)
  })
}

/** Includes a command that is only named in a help request. */
const namedBy = (words: readonly string[]): readonly string[] => {
  const [first = '', second = ''] = words
  const asked = first === 'help' ? [first, second] : [first]
  const known = OUTLINE.commands.filter((c) => asked.some((word) => isCalled(c, word))).map((c) => c.name)
  // An updated checkout, whose outline is older than its commands.
  return [...new Set([...known, ...asked.filter((word) => COMMAND_FILES.has(word))])]
}

function emptyProgram(): Command {
  return new Command('kubenode')
    .description('Runs the nodes of many Kubernetes clusters from git.')
    .version(`kubenode ${VERSION}`, '-V, --version', 'print the version')
    .addOption(
      new Option('--color <when>', 'color the output: auto is on a terminal without NO_COLOR')
        .choices(COLORS)
        .default('auto'),
    )
    .option('-q, --quiet', 'print no progress and no hints, only results and errors')
    .showSuggestionAfterError()
    .helpCommand(false)
    .configureHelp({
      showGlobalOptions: true,
      minWidthToWrap: MIN_HELP_WIDTH,
      styleTitle: (title) => paintOf(true)('strong', title),
      formatItem: narrowItem,
      ...groupedHelp,
    })
}

/** Program options decide how a command prints, and are known only after parsing. */
const ioFor = (program: Command, io: Io): Io => ({
  ...io,
  err: (text) => (program.opts<ProgramOptions>().quiet === true ? undefined : io.err(text)),
  problem: (text) => io.err(text),
  get color() {
    return program.opts<ProgramOptions>().color
  },
})

interface ProgramOptions {
  readonly color: (typeof COLORS)[number]
  readonly quiet?: boolean
}

/** Width of help output in a pipe. */
const HELP_WIDTH = 80

/** For a subcommand: kubenode release retry. */
const calledAs = (command: Command): string =>
  command.parent === null ? command.name() : `${calledAs(command.parent)} ${command.name()}`

/** Prints through Io and never calls process.exit. */
function prepare(command: Command, io: Io): void {
  command.exitOverride()
  command.showHelpAfterError(`(run ${calledAs(command)} --help)`)
  command.configureOutput({
    writeOut: (s) => io.out(withPages(s, io.cwd)),
    writeErr: (s) => io.err(s),
    getOutHelpWidth: () => io.width?.() ?? HELP_WIDTH,
    getErrHelpWidth: () => io.errWidth?.() ?? HELP_WIDTH,
    getOutHasColors: () => hasColors(io),
    getErrHasColors: () => hasColors({ ...io, isTerminal: io.errWidth?.() !== undefined }),
    outputError: (s, write) => write(numbered(withAdvice(command, s))),
  })
  for (const child of command.commands) prepare(child, io)
}

/** Gives commander's errors this program's format. */
const numbered = (text: string): string => text.replace(/^error: /, `${cliErrors.KN1002.code}: `)

/** The command that the words name. */
function commandOf(program: Command, argv: readonly string[]): Command {
  let command = program
  for (const word of afterOptions(argv)) {
    const next = command.commands.find((c) => c.name() === word || c.aliases().includes(word))
    if (next === undefined) break
    command = next
  }
  return command
}

/** Answers the shell's completion requests. */
async function completed(words: readonly string[], io: Io): Promise<number> {
  try {
    const { complete } = await import('./complete/complete.ts')
    await complete(words, io)
    return EXIT_OK
  } catch (e) {
    return reportError(io, e)
  }
}

/** Runs one command line and returns the exit code. */
export async function run(typed: readonly string[], given: Io): Promise<number> {
  const io = withNameAsCalled(withPagesInHints(withWrappedHints(given)), typed)
  if (typed[0] === '__complete') return completed(typed.slice(1), io)
  const argv = withoutShortSigns(typed)
  const program = await programWith(namedBy(afterOptions(argv)), io)
  if (argv.length === 0) {
    io.out(withPages(program.helpInformation(), io.cwd))
    return EXIT_OK
  }
  try {
    await program.parseAsync(hoisted(program, argv), { from: 'user' })
    return EXIT_OK
  } catch (e) {
    // commander has already printed its message. Its own codes are 0 for help and version, 1 for misuse.
    if (e instanceof CommanderError) {
      if (e.exitCode === 0) return EXIT_OK
      const { exampleOf } = await import('./missing.ts')
      const command = commandOf(program, hoisted(program, argv))
      const example = await exampleOf(e, command, io)
      if (example !== undefined) ioFor(program, io).err(example)
      await hintAtKubectl(`${e.message} ${withAdvice(command, e.message)}`)
      return EXIT_ERROR
    }
    const code = reportError(io, e)
    if (e instanceof Error) await hintAtKubectl(e.message)
    return code
  }

  async function hintAtKubectl(output: string): Promise<void> {
    const { kubectlNeeds } = await import('./for-kubectl.ts')
    const needed = await kubectlNeeds(output, argv, io)
    if (needed !== undefined) ioFor(program, io).err(needed)
  }
}
