// The tree of commands. Each command is a file under commands/ with one `register`; heavy modules load inside its action.
import { Command, CommanderError, Option } from 'commander'
import * as agent from './agent/commands.ts'
import * as approve from './commands/approve.ts'
import * as apiserver from './commands/apiserver.ts'
import * as artifact from './commands/artifact.ts'
import * as bootstrap from './commands/bootstrap.ts'
import * as completion from './commands/completion.ts'
import * as diff from './commands/diff.ts'
import * as edits from './commands/edits.ts'
import * as explore from './explore/commands.ts'
import * as get from './get/commands.ts'
import * as freeze from './commands/freeze.ts'
import * as help from './commands/help.ts'
import * as image from './commands/image.ts'
import * as init from './commands/init.ts'
import * as inspect from './commands/inspect.ts'
import * as installing from './commands/install.ts'
import * as lint from './commands/lint.ts'
import * as local from './commands/local.ts'
import * as logs from './logs/commands.ts'
import * as inventory from './commands/inventory.ts'
import * as machine from './commands/machine.ts'
import * as plan from './commands/plan.ts'
import * as renderJob from './commands/render-job.ts'
import * as release from './release/commands.ts'
import * as rules from './commands/rules.ts'
import * as rollout from './rollout/commands.ts'
import * as runRoles from './commands/run.ts'
import * as unprotect from './commands/unprotect.ts'
import * as version from './commands/version.ts'
import * as whyNot from './commands/why-not.ts'
import { readEnvironment } from './environment.ts'
import { EXIT_ERROR, EXIT_OK, reportError } from './exit.ts'
import { withAdvice } from './habits/advice.ts'
import { hoisted } from './hoist.ts'
import type { Io } from './io.ts'
import { COLORS, hasColors, paintOf } from './paint.ts'
import { VERSION } from './version.ts'
import { cliErrors } from './cli-errors.ts'

const COMMANDS = [
  agent,
  apiserver,
  approve,
  artifact,
  bootstrap,
  completion,
  diff,
  edits,
  explore,
  freeze,
  get,
  help,
  image,
  init,
  inspect,
  installing,
  inventory,
  lint,
  local,
  logs,
  machine,
  plan,
  release,
  renderJob,
  rollout,
  rules,
  runRoles,
  unprotect,
  version,
  whyNot,
]

/** Of the column of descriptions; in narrower windows the terminal breaks the lines. */
const MIN_HELP_WIDTH = 20

export function buildProgram(io: Io): Command {
  const program = new Command('kubenode')
    .description('Runs the nodes of many Kubernetes clusters from git.')
    .version(`kubenode ${VERSION}`, '-V, --version', 'print the version')
    .addOption(
      new Option('--color <when>', 'color the output: auto is on a terminal without NO_COLOR')
        .choices(COLORS)
        .default('auto'),
    )
    .option('-q, --quiet', 'print no progress and no hints, only results and errors')
    .showSuggestionAfterError()
    .showHelpAfterError('(run kubenode --help, or kubenode COMMAND --help)')
    .helpCommand(false)
    .configureHelp({
      showGlobalOptions: true,
      minWidthToWrap: MIN_HELP_WIDTH,
      styleTitle: (title) => paintOf(true)('strong', title),
    })
  const shown = ioFor(program, io)
  for (const { register } of COMMANDS) register(program, shown)
  prepare(program, io)
  readEnvironment(program, io.env)
  return program
}

/** The options of the program say how a command prints; they are known once the command line is read. */
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

/** Of the help in a pipe. */
const HELP_WIDTH = 80

/** Output through Io, and no process.exit from inside. */
function prepare(command: Command, io: Io): void {
  command.exitOverride()
  command.configureOutput({
    writeOut: (s) => io.out(s),
    writeErr: (s) => io.err(s),
    getOutHelpWidth: () => io.width?.() ?? HELP_WIDTH,
    getErrHelpWidth: () => io.errWidth?.() ?? HELP_WIDTH,
    getOutHasColors: () => hasColors(io),
    getErrHasColors: () => hasColors({ ...io, isTerminal: io.errWidth?.() !== undefined }),
    outputError: (s, write) => write(numbered(withAdvice(command, s))),
  })
  for (const child of command.commands) prepare(child, io)
}

/** commander's own complaints, in our form. */
const numbered = (text: string): string => text.replace(/^error: /, `${cliErrors.KN1002.code}: `)

/** Runs one command line and returns the exit code. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const program = buildProgram(io)
  if (argv.length === 0) {
    io.out(program.helpInformation())
    return EXIT_OK
  }
  try {
    await program.parseAsync(hoisted(program, argv), { from: 'user' })
    return EXIT_OK
  } catch (e) {
    // commander has printed its message already; its own codes are 0 for help and version, 1 for misuse.
    if (e instanceof CommanderError) return e.exitCode === 0 ? EXIT_OK : EXIT_ERROR
    return reportError(io, e)
  }
}
