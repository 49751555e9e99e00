// `kubenode run --roles …`: KubeNode's long-running programs, each role with its own leader election.
import { Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { runErrors } from '#programs/run/run-errors.ts'
import type { RunOptions } from '#programs/run/run-options.ts'
import { withOptions } from './run-options.ts'

export function register(program: Command, io: Io): void {
  const command = program
    .command('run')
    .description(
      'run parts of KubeNode against a cluster: sync, controllers, approver, defender, cluster, artifacts, history, console, hosted',
    )
    .argument('[more...]', 'after --: the options of one more cluster, whose roles run in this process too')
  withOptions(command)
    .option(
      '--follow <file>',
      'JSON file with the options of further clusters, a list of lists as after --, which is read again as it changes: new ones start, missing ones end; - reads such lists from standard input, one a line, until it ends',
    )
    .action(async (more: readonly string[], options: FollowingOptions) => {
      const { follow, ...first } = options
      const others = groupsIn(more).map((args) => optionsIn(command, args))
      const isAlone = follow !== undefined && first.roles === undefined && others.length === 0
      const all = isAlone ? [] : [first, ...others].map(withRoles)
      const { runRoles } = await import('#programs/run/run-roles.ts')
      await runRoles(all, io, {
        logLevel: options.logLevel,
        ...(follow !== undefined && {
          follow: { source: await sourceOf(follow), read: (args) => withRoles(optionsIn(command, args)) },
        }),
      })
    })
}

/** The list that a supervisor of hosted programs writes to its child: with the supervisor the child ends. */
const STANDARD_INPUT = '-'

async function sourceOf(follow: string) {
  const { fileSource, lineSource } = await import('#programs/run/follow-source.ts')
  return follow === STANDARD_INPUT
    ? lineSource(process.stdin, () => process.kill(process.pid, 'SIGTERM'))
    : fileSource(follow)
}

/** Only a process that follows a file may start without clusters, and so without roles. */
type UncheckedOptions = Omit<RunOptions, 'roles'> & { readonly roles?: string }
type FollowingOptions = UncheckedOptions & { readonly follow?: string }

function withRoles(options: UncheckedOptions): RunOptions {
  const { roles } = options
  if (roles === undefined) throw new KubeNodeError(runErrors.KN1002_roles())
  return { ...options, roles }
}

/** One group per `--`. */
function groupsIn(more: readonly string[]): readonly (readonly string[])[] {
  if (more.length === 0) return []
  const end = more.indexOf(SEPARATOR)
  return end < 0 ? [more] : [more.slice(0, end), ...groupsIn(more.slice(end + 1))]
}
const SEPARATOR = '--'

/** Same options as the command itself. */
function optionsIn(command: Command, args: readonly string[]): UncheckedOptions {
  const other = withOptions(new Command(command.name()).copyInheritedSettings(command)).allowExcessArguments(false)
  return other.parse([...args], { from: 'user' }).opts<UncheckedOptions>()
}
