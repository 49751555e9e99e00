// `kubenode agent …`: builds the agent bundle, joins this host, runs an agent.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { agentErrors } from '#agent/agent-errors.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import { PROGRAMS } from '#programs/all.ts'

interface BundleFlags {
  readonly out: string
  readonly node?: readonly string[]
  readonly unpacked?: boolean
}

export function register(program: Command, io: Io): void {
  const agent = program.command('agent').description('the agent of a node: its bundle, joining a host, running it')
  agent
    .command('bundle')
    .description('build what a host needs, with its Node.js: an archive for each kind of processor, and join.sh')
    .requiredOption('--out <dir>', 'where to write them')
    .option(
      '--node <files...>',
      'Node.js programs to include, one for each kind of processor; the running one by default',
    )
    .option('--unpacked', 'write the files of the archive into the folder instead')
    .action(async ({ out, node = [process.execPath], unpacked = false }: BundleFlags) => {
      const given = { root: releaseRoot(), out: resolve(io.cwd, out) }
      const nodes = node.map((file) => resolve(io.cwd, file))
      const { checkNode, makeArchives } = await import('#agent/join/archive.ts')
      for (const file of nodes) checkNode(file)
      const made = unpacked
        ? await (
            await import('#agent/join/program-bundle.ts')
          ).bundleAgent({ ...given, prefix: '/opt/kubenode', node: nodes[0] ?? '' })
        : await makeArchives({ ...given, nodes })
      for (const file of made) io.out(`${JSON.stringify(file)}\n`)
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
      if (!existsSync(program)) throw new KubeNodeError(agentErrors.KN8085({ program }))
      const args = ['join', bundle, '--root', options.root, ...(options.start ? [] : ['--no-start'])]
      const { status } = spawnSync(process.execPath, [program, ...args], { stdio: 'inherit' })
      if (status !== 0) throw new Exit(status ?? 1)
    })
  agent
    .command('leave')
    .description('hand this host back: what was there before is restored or what runs is kept, and the agent removed')
    .option('--agent <dir>', 'folder with what kubenode agent bundle made', '/opt/kubenode')
    .option('--root <dir>', 'data folder of the agent', '/var/lib/kubenode')
    .option('--dry-run', 'show what would happen to each component')
    .action(async (options: { agent: string; root: string; dryRun?: boolean }) => {
      const { spawnSync } = await import('node:child_process')
      const program = join(options.agent, 'agent.mjs')
      if (!existsSync(program)) throw new KubeNodeError(agentErrors.KN1112_leave({ folder: options.agent }))
      const args = ['leave', '--root', options.root, ...(options.dryRun === true ? ['--dry-run'] : [])]
      const { status } = spawnSync(process.execPath, [program, ...args], { stdio: 'inherit' })
      if (status !== 0) throw new Exit(status ?? 1)
    })
  agent
    .command('trust')
    .description('replace the trusted keys of this host by those of a trust document, as when the old keys were lost')
    .argument('<document>', 'trust document (JSON), at least as new as the one in force')
    .option('--root <dir>', 'data folder of the agent', '/var/lib/kubenode')
    .action(async (document: string, { root }: { root: string }) => {
      const { putTrustOnHost } = await import('#agent/join/trust-on-host.ts')
      const sequence = putTrustOnHost(document, root, Date.now())
      io.out(`${root}: the agent trusts the keys of sequence ${sequence} from its next installation on\n`)
    })
  agent
    .command('run')
    .description('run the agent of a node folder until it is stopped')
    .requiredOption('--root <dir>', 'data folder of the agent')
    .option('--host', 'the node is this host, not the folder')
    .action(async ({ root, host }: { root: string; host?: boolean }) => {
      const { main } = await PROGRAMS.agent.load()
      const code = await main(['--root', root, ...(host === true ? ['--host'] : [])])
      if (code !== 0) throw new Exit(code)
    })
}
