// `kubenode agent …`: makes the agent's bundle, joins this host, runs an agent.
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { releaseRoot } from '#lib/release-root.ts'
import { Exit } from '../exit.ts'
import type { Io } from '../io.ts'

export function register(program: Command, io: Io): void {
  const agent = program.command('agent').description('the agent of a node: its bundle, joining a host, running it')
  agent
    .command('bundle')
    .description('build the files that a host needs: agent.mjs, supervisor.mjs and a systemd unit')
    .requiredOption('--out <dir>', 'where to write them')
    .option('--prefix <dir>', 'where they are installed on the hosts', '/opt/kubenode')
    .option('--with-node', 'include the Node binary that runs this command')
    .action(async ({ out, prefix, withNode }: { out: string; prefix: string; withNode?: boolean }) => {
      const { bundleAgent } = await import('./bundle.ts')
      const node = withNode === true ? { node: process.execPath } : {}
      for (const made of await bundleAgent({ root: releaseRoot(), out: resolve(io.cwd, out), prefix, ...node }))
        io.out(`${JSON.stringify(made)}\n`)
    })
  agent
    .command('join')
    .description('make this host a node: BUNDLE is the join bundle, as JSON or base64, @FILE, or - for standard input')
    .argument('<bundle>')
    .option('--agent <dir>', 'folder with what kubenode agent bundle made', '/opt/kubenode')
    .option('--root <dir>', 'data folder of the agent', '/var/lib/kubenode')
    .option('--no-start', 'install without starting')
    .action(async (bundle: string, options: { agent: string; root: string; start: boolean }) => {
      const { spawnSync } = await import('node:child_process')
      const program = join(options.agent, 'agent.mjs')
      const args = ['join', bundle, '--root', options.root, ...(options.start ? [] : ['--no-start'])]
      const { status } = spawnSync(process.execPath, [program, ...args], { stdio: 'inherit' })
      if (status !== 0) throw new Exit(status ?? 1)
    })
  agent
    .command('trust')
    .description('replace the trusted keys of this host by those of a trust document, as when the old keys were lost')
    .argument('<document>', 'trust document (JSON), at least as new as the one in force')
    .option('--root <dir>', 'data folder of the agent', '/var/lib/kubenode')
    .action(async (document: string, { root }: { root: string }) => {
      const { putTrustOnHost } = await import('../artifact/trust-on-host.ts')
      const sequence = putTrustOnHost(document, root, Date.now())
      io.out(`${root}: the agent trusts the keys of sequence ${sequence} from its next installation on\n`)
    })
  agent
    .command('run')
    .description('run the agent of a node folder until it is stopped')
    .requiredOption('--root <dir>', 'data folder of the agent')
    .option('--host', 'the node is this host, not the folder')
    .action(async ({ root, host }: { root: string; host?: boolean }) => {
      const { main } = await import('../agent-program.ts')
      const code = await main(['--root', root, ...(host === true ? ['--host'] : [])])
      if (code !== 0) throw new Exit(code)
    })
}
