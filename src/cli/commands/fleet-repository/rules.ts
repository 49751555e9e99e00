// `kubenode rules test | lint | coverage | simulate | enforce | backtest | review | suggest`: checks a folder's rules before any cluster gets them, and lets a dry-run rule repair.
import { Option } from 'commander'
import type { Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import type { RulesAsked, SimulateAsked } from '#forecast/rules/report.ts'
import type { EnforceOptions } from './enforce.ts'
import { registerRulesOfPast } from './rules-of-past.ts'
import { nameOfKind } from '../../fleet/name-word.ts'
import { outputOption } from '../../output.ts'
import { withCopy } from '../../fleet/copy-options.ts'
import { withServer } from '../../fleet/connect.ts'
import { weakCageNote, weakCageOption } from '../../weak-cage.ts'

type Options = Omit<RulesAsked, 'weakCageNote'>
type SimulateOptions = Omit<SimulateAsked, 'weakCageNote'>

const reports = () => import('#forecast/rules/report.ts')

export function register(program: Command, io: Io): void {
  const rules = program.command('rules').description('test remedy rules before a cluster has them, and enforce them')
  const withFolder = (command: Command): Command =>
    command
      .addOption(new Option('-d, --dir <folder>', 'folder with rules and their cases').default('rules'))
      .addOption(outputOption(['text', 'json']).default('text'))
      .addOption(weakCageOption())

  withFolder(rules.command('test'))
    .description('run every case of every rule; exit 1 when one fails')
    .action(async (options: Options) => (await reports()).reportTest({ ...options, weakCageNote }, io))

  withFolder(rules.command('lint'))
    .description('report errors in rules, and rules that do harm or nothing; exit 2 when there are any')
    .action(async (options: Options) => (await reports()).reportLint({ ...options, weakCageNote }, io))

  withFolder(rules.command('coverage'))
    .description('list the parts of rules that no case covers; exit 1 when there are any')
    .action(async (options: Options) => (await reports()).reportCoverage({ ...options, weakCageNote }, io))

  withCopy(
    withServer(
      rules
        .command('enforce')
        .description('show what a rule in mode DryRun would have done, and print the edit that lets it repair')
        .argument('<rule>', 'name of the rule', nameOfKind('remedier'))
        .option('--stage <name>', 'in the clusters of this stage; where the fleet declares it once when left out'),
    ),
  ).action(async (name: string, options: EnforceOptions) => {
    const { enforce } = await import('./enforce.ts')
    await enforce(name, options, io)
  })

  withFolder(rules.command('simulate'))
    .description('show what the rules would do about a Node in a file')
    .requiredOption('--node <file>', 'Nodes, optionally with their Machines, as YAML or JSON')
    .option('--all', 'include rules that are not true, each with the tree that explains why')
    .action(async (options: SimulateOptions) => (await reports()).reportAnswers({ ...options, weakCageNote }, io))

  registerRulesOfPast(rules, io)
}
