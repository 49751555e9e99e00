// `kubenode install | check | upgrade | uninstall`: installs KubeNode in a cluster, checks it beforehand, upgrades it, and removes it completely.
import { Option, type Command } from 'commander'
import type { CheckOptions, InstallOptions, UninstallOptions } from '#install/install-options.ts'
import type { Io } from '#lib/terminal/io.ts'
import { outputOption } from '../../output.ts'
import { type ServerOptions, withServer } from '../../fleet/connect.ts'
import { type Waiting, contextOf, withSettings, withTimeout } from './install-context.ts'

export interface InstallFlags extends ServerOptions, Omit<InstallOptions, 'isUpgrade'>, Waiting {}

interface CheckFlags extends ServerOptions, CheckOptions {}

interface UninstallFlags extends ServerOptions, UninstallOptions, Waiting {}

export function register(program: Command, io: Io): void {
  for (const isUpgrade of [false, true]) {
    const command = program
      .command(isUpgrade ? 'upgrade' : 'install')
      .description(
        isUpgrade
          ? 'bring the KubeNode of a cluster to the version of this program; running rollouts continue'
          : 'install KubeNode in a cluster; running it again changes nothing, or finishes what was begun',
      )
    withTimeout(withSettings(withServer(command)), '5m')
      .option('--export', 'print the objects as YAML; needs no cluster')
      .addOption(
        new Option('--dry-run [where]', 'try everything on the API server and write nothing')
          .choices(['server'])
          .preset('server'),
      )
      .option('--diff', 'show what would change and write nothing')
      .option('--no-wait', 'do not wait until the programs work')
      .option('--ignore <checks>', 'names of checks that may fail, separated by commas')
      .option('--rename', 'give a cluster that is installed the other name that the settings have')
      .option('-y, --yes', 'do not ask')
      .action(async (options: InstallFlags) => {
        const { installCluster } = await import('#install/install-cluster.ts')
        await installCluster({ ...options, isUpgrade }, io, () => contextOf(options, io))
      })
  }
  withSettings(withServer(program.command('check')))
    .description('check whether KubeNode can be installed in a cluster, or works there')
    .option('--pre', 'before an installation')
    .addOption(outputOption(['json']))
    .action(async (options: CheckFlags) => {
      const { reportChecks } = await import('#install/report-checks.ts')
      await reportChecks(options, await contextOf(options, io), io)
    })
  withTimeout(withServer(program.command('uninstall')), '10m')
    .description('take KubeNode off a cluster; pods of others keep running, and hosts keep what runs on them')
    .option('--dry-run', 'show what would be done')
    .option('--delete-crds', 'delete the definitions as well, and with them all objects of KubeNode')
    .option('--keep-namespace', 'keep the namespaces of KubeNode')
    .option('--keep-agents', 'leave the agents on their hosts instead of handing the hosts back first')
    .option('--now', 'do not wait for running operations, and leave the agents on their hosts')
    .option('--yes <cluster>', 'the name of the cluster, instead of being asked for it')
    .action((options: UninstallFlags) => takeOff(options, io))
}

async function takeOff(options: UninstallFlags, io: Io): Promise<void> {
  const context = await contextOf(options, io)
  const [{ takeOff: removeAll }, { clusterName }, { authorOf }] = await Promise.all([
    import('#install/uninstall/take-off.ts'),
    import('./installed-cluster-name.ts'),
    import('../../current-person.ts'),
  ])
  const name = await clusterName(context, options, io)
  await removeAll(options, { context, name, author: await authorOf(context.client, io) }, io)
}
