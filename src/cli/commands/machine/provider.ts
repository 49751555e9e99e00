// `kubenode provider …`: for people who write infra providers or run them.
import { resolve } from 'node:path'
import { defined } from '#lib/defined.ts'
import { shownLine } from '#lib/printable.ts'
import { Argument, type Command, Option } from 'commander'
import { systemClock } from '#lib/system-clock.ts'
import type { Io } from '#lib/terminal/io.ts'
import { repeated } from '#lib/flags.ts'
import { outputOption } from '../../output.ts'
import { connect, type ServerOptions, withServer } from '../../fleet/connect.ts'
import type { ConformanceAsked } from '#providers/remote/conformance-asked.ts'
import type { ServeOptions } from '#programs/serve-provider.ts'
import { PROGRAMS } from '#programs/all.ts'

export function register(program: Command, io: Io): void {
  const provider = program
    .command('provider')
    .description('infra providers: test one of your own, serve one apart from the controllers, allow one in a cloud')
  provider
    .command('conformance')
    .description('test a program that serves a provider; makes, restarts and deletes hosts there')
    .option('--socket <file>', 'Unix socket of the program')
    .option('--url <url>', 'https address of the program')
    .option('--ca <file>', 'with --url: authority of its certificate, in PEM')
    .option('--token-file <file>', 'with --url: file with its bearer token')
    .option(
      '--params <key=value>',
      'parameter of the hosts, as in Machine.spec.provider.params; can be repeated',
      repeated,
    )
    .option('--timeout <duration>', 'longest time of one case', '10m')
    .addOption(outputOption(['json']))
    .action(async (options: ConformanceAsked) =>
      (await import('#providers/remote/conformance-asked.ts')).conformance(options, io),
    )
  provider
    .command('serve')
    .description('serve infra providers to controllers elsewhere, without access to Kubernetes')
    .requiredOption('--providers <file>', 'YAML or JSON file with the infra providers and their options')
    .option('--name <name>', 'the provider to serve; all of the file when left out')
    .option('--socket <file>', 'Unix socket for one provider; only this user can open it')
    .option('--listen <address:port>', 'address for https; each provider is below /NAME')
    .option('--cert <file>', 'with --listen: certificate, in PEM')
    .option('--key <file>', 'with --listen: its private key, in PEM')
    .option('--token-file <file>', 'with --listen: file with the bearer token that callers must show')
    .option('--health-listen <address:port>', 'serve /healthz and /readyz there')
    .addOption(
      new Option('--log-level <level>', 'lowest level that is logged')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('info'),
    )
    .action((options: ServeOptions) => serving(options, io))
  withServer(
    provider
      .command('orphans')
      .description('list hosts that belong to no Machine')
      .option('--delete <host>', 'approve that the controllers delete this host; can be repeated', repeated)
      .addOption(outputOption(['json'])),
  ).action((options: OrphansOptions) => orphans(options, io))
  provider
    .command('policy')
    .description('print what a cloud account must be allowed for one cluster')
    .addArgument(new Argument('<provider>', 'name of the cloud').choices(Object.keys(POLICIES)))
    .requiredOption('--region <name>', 'region of the hosts, as in the providers file')
    .requiredOption('--tag <value>', 'tag of the hosts: the option "cluster" in the providers file')
    .option('--host-role <name>', 'role that the hosts get, when the parameters of Machines name one')
    .action((name: keyof typeof POLICIES, options: PolicyOptions) => policy(name, options, io))
}

interface OrphansOptions extends ServerOptions {
  readonly delete?: readonly string[]
  readonly output?: 'json'
}

async function orphans(options: OrphansOptions, io: Io): Promise<void> {
  const { approveDeletion, orphanLines, readOrphans } = await import('#providers/remote/orphans.ts')
  const client = await connect(options, io)
  const now = systemClock.now()
  if (options.delete !== undefined)
    for (const line of await approveDeletion(client, options.delete, now)) io.out(shownLine(line))
  else {
    const found = await readOrphans(client, now)
    if (options.output === 'json') io.out(`${JSON.stringify(found, undefined, 2)}\n`)
    else for (const line of orphanLines(found, now)) io.out(shownLine(line))
  }
}

interface PolicyOptions {
  readonly region: string
  readonly tag: string
  readonly hostRole?: string
}

const POLICIES = {
  alicloud: async () => (await import('#providers/alicloud/policy.ts')).alicloudPolicy,
  aws: async () => (await import('#providers/aws/policy.ts')).awsPolicy,
} as const

async function policy(name: keyof typeof POLICIES, { region, tag, hostRole }: PolicyOptions, io: Io): Promise<void> {
  const make = await POLICIES[name]()
  io.out(`${JSON.stringify(make({ region, cluster: tag, ...defined({ hostRole }) }), null, 2)}\n`)
}

async function serving(options: ServeOptions, io: Io): Promise<void> {
  const at = (file: string) => resolve(io.cwd, file)
  const { providers, socket, cert, key, tokenFile } = options
  const { serve } = await PROGRAMS.provider.load()
  await serve({
    ...options,
    providers: at(providers),
    ...(socket !== undefined && { socket: at(socket) }),
    ...(cert !== undefined && { cert: at(cert) }),
    ...(key !== undefined && { key: at(key) }),
    ...(tokenFile !== undefined && { tokenFile: at(tokenFile) }),
  })
}
