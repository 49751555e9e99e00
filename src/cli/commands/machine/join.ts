// `kubenode join --ssh`: existing hosts become nodes, many at once.
import type { Command } from 'commander'
import type { JoinHostsAsked } from '#install/machines/over-ssh/join-over-ssh.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type ServerOptions, connect, withServer } from '../../fleet/connect.ts'
import { outputOption } from '../../output.ts'

interface JoinOptions extends ServerOptions, JoinHostsAsked {}

export function register(program: Command, io: Io): void {
  withServer(program.command('join'))
    .description(
      'make a Machine for each host of a file, and follow the controllers as they join them over SSH; can be interrupted and repeated',
    )
    .option(
      '--ssh <file>',
      'CSV file, or - for standard input; its first line names columns: name, host, port, user, pool, zone, rack, class, hostKey, hostCA, secret, jumpHost, jumpPort, jumpUser, jumpHostKey, jumpHostCA',
    )
    .option('--secret <name>', 'Secret in kubenode-system with the key, for rows without their own')
    .option('--user <name>', 'user to log in as, for rows without their own; root when left out')
    .option('--pool <name>', 'pool, for rows without their own')
    .option('--host-ca <file>', 'public key of the authority of host certificates, for rows without a key')
    .option('--accept-new-keys', 'accept the first key of hosts without one in their row, and pin it')
    .option('--retry-failed', 'try hosts again that failed in an earlier run')
    .option('--dry-run', 'show what would be created')
    .option('--no-wait', 'create the Machines only')
    .option('--timeout <duration>', 'how long to follow them; then 1, and the controllers continue')
    .addOption(outputOption(['json']))
    .action(async (options: JoinOptions) => {
      const { joinOverSsh } = await import('#install/machines/over-ssh/join-over-ssh.ts')
      await joinOverSsh(options, io, () => connect(options, io))
    })
}
