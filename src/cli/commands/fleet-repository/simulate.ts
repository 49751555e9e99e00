// `kubenode simulate`: a commit on a copy of a cluster in memory, while a scenario breaks things. Contacts no cluster.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '#lib/duration.ts'
import type { Io } from '#lib/terminal/io.ts'
import { WHAT_IFS } from '#forecast/simulation/what-ifs.ts'
import type { SimulateAsked } from '#forecast/simulation/show-simulation.ts'
import { wholeNumber } from '../../counted-option.ts'
import { outputOption } from '../../output.ts'
import { weakCageNote, weakCageOption } from '../../weak-cage.ts'

type SimulateOptions = Omit<SimulateAsked, 'weakCageNote'>

/** Enough for a spread; a pull request waits no longer. */
const SEEDS = 5
const MOST_SEEDS = 100
/** The scale of one cluster. */
const MOST_MACHINES = 20_000
const LENGTH = '48h'

export function register(program: Command, io: Io): void {
  program
    .command('simulate')
    .description('try a commit on a copy of a cluster in memory while things break, without touching any cluster')
    .argument(
      '[scenario...]',
      'files or names of scenarios of the fleet; all *.scenario.ts in its folder when left out',
    )
    .option(
      '--inventory <file>',
      'the cluster as it is: a file of kubenode inventory export; when left out, working machines of the declared MachineSets are assumed',
    )
    .addOption(
      new Option(
        '--machines <number>',
        'without --inventory: machines to assume for each MachineSet; its replicas when left out',
      )
        .argParser(wholeNumber(1, MOST_MACHINES))
        .conflicts('inventory'),
    )
    .option('--commit <rev>', 'the commit that rolls out', 'HEAD')
    .option(
      '--base <rev>',
      'the commit that the cluster has; when left out, with --inventory the first parent, or with --dirty the commit itself, otherwise none',
    )
    .option('--dirty', 'roll out the edits of the work tree as if they were committed')
    .option('--fleet-cluster <name>', 'its name in the fleet, where it differs from that of the inventory')
    .option('--repo <dir>', 'the repository; the one around the current folder when left out')
    .option('--path <dir>', 'folder of the fleet in the repository', '.')
    .addOption(
      new Option('--what-if <name>', 'a built-in scenario, instead of those of the fleet; repeatable')
        .choices(WHAT_IFS)
        .argParser((name: string, before: readonly string[] | undefined) => whatIfs(name, before)),
    )
    .addOption(
      new Option('--seeds <number>', 'runs of each scenario').argParser(wholeNumber(1, MOST_SEEDS)).default(SEEDS),
    )
    .addOption(
      new Option('--for <duration>', 'how much time is simulated at most, unless the scenario has its own')
        .argParser(longerThanNothing)
        .default(LENGTH),
    )
    .addOption(outputOption(['text', 'json', 'junit']).default('text'))
    .addOption(weakCageOption())
    .action(async (names: readonly string[], options: SimulateOptions) =>
      (await import('#forecast/simulation/show-simulation.ts')).showSimulation(names, { ...options, weakCageNote }, io),
    )
}

function longerThanNothing(text: string): string {
  if (parseDuration(text) > 0) return text
  throw new InvalidArgumentError('Give a duration longer than 0s, such as 90m or 48h.')
}

function whatIfs(name: string, before: readonly string[] = []): readonly string[] {
  if (!(WHAT_IFS as readonly string[]).includes(name))
    throw new InvalidArgumentError(`Allowed choices are ${WHAT_IFS.join(', ')}.`)
  return [...before, name]
}
