// `kubenode report`: what a cluster was like over some days, as tables, data, or a page.
import type { Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { withServer, withServers } from '../../fleet/connect.ts'
import { withHistory } from '../../fleet/history-options.ts'
import { outputOption } from '../../output.ts'
import type { FleetReportOptions, ReportOptions } from './show-report.ts'

export function register(program: Command, io: Io): void {
  const report = program.command('report').description('what a cluster was like over some days')
  const shared = (command: Command, description: string): Command =>
    withHistory(command)
      .description(description)
      .option('--since <time>', 'from when: a time, a day, or how long ago, such as 30d', '7d')
      .option(
        '--cluster <name>',
        'name of the cluster in the report and in its history; what sync recorded when left out',
      )
      .addOption(outputOption(['table', 'json', 'csv', 'markdown', 'html']).default('table'))
  const form = (name: string, description: string): Command => shared(withServer(report.command(name)), description)
  const show = async (kind: 'pool' | 'component' | 'repairs' | 'release', options: ReportOptions, only?: string) =>
    (await import('./show-report.ts')).showReport({ kind, only }, options, io)
  shared(
    withServers(report.command('fleet')),
    'the week on one page, of all clusters and of each: service level, utilization, faults, repairs, delivery',
  ).action(async (options: FleetReportOptions) => (await import('./show-report.ts')).showFleetReport(options, io))
  form('pool', 'service level, budget and utilization of each pool')
    .argument('[name]', 'one pool; all when left out')
    .action((name: string | undefined, options: ReportOptions) => show('pool', options, name))
  form('component', 'which machines lack a component, which are in no set, and how equal the others are')
    .argument('[name]', 'one component; all when left out')
    .action((name: string | undefined, options: ReportOptions) => show('component', options, name))
  form('repairs', 'repairs by rule, their mean times, and faults by kind, kernel, class, zone and age').action(
    (options: ReportOptions) => show('repairs', options),
  )
  form('release', 'how often, how fast and how safely changes reach the fleet').action((options: ReportOptions) =>
    show('release', options),
  )
}
