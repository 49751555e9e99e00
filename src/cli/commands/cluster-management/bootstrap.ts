// `kubenode bootstrap --git URL`: installs KubeNode in a cluster and makes it follow a fleet repository.
import type { Command } from 'commander'
import type { BootstrapOptions } from '#install/bootstrap/bootstrap-cluster.ts'
import { GIT_VARIABLES } from '#install/bootstrap/git-variables.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type ServerOptions, withServer } from '../../fleet/connect.ts'
import { weakCageOption } from '../../weak-cage.ts'
import { type Waiting, contextOf, withSettings, withTimeout } from './install-context.ts'

interface BootstrapFlags extends ServerOptions, BootstrapOptions, Waiting {}

export function register(program: Command, io: Io): void {
  withTimeout(withSettings(withServer(program.command('bootstrap'))), '5m')
    .description('install KubeNode in a cluster and make it follow a git repository; running it again changes nothing')
    .requiredOption('--git <url>', 'the repository: https, ssh or file')
    .option('--branch <name>', 'the branch to follow', 'main')
    .option('--path <dir>', 'folder of the fleet in the repository', '.')
    .option('--username <name>', `user of the git server; ${GIT_VARIABLES.username} when left out`)
    .option('--token-file <file>', `file with the access token; ${GIT_VARIABLES.token} when left out`)
    .option('--ca <file>', `authority of the git server, as PEM; ${GIT_VARIABLES.ca} names the file when left out`)
    .option('--ssh-key <file>', `private key for ssh; ${GIT_VARIABLES.sshKey} names the file when left out`)
    .option('--known-hosts <file>', `host keys for ssh; ${GIT_VARIABLES.knownHosts} names the file when left out`)
    .option('--no-install', 'the programs of KubeNode are there already')
    .option('--dry-run', 'show what would be done and write nothing')
    .option('--no-wait', 'do not wait until the first commit is applied')
    .option('--ignore <checks>', 'names of checks that may fail, separated by commas')
    .option('-y, --yes', 'do not ask')
    .addOption(weakCageOption())
    .action(async (options: BootstrapFlags) => {
      const { bootstrapCluster } = await import('#install/bootstrap/bootstrap-cluster.ts')
      await bootstrapCluster(options, io, () => contextOf(options, io))
    })
}
