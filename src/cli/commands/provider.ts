// `kubenode provider …`: for people who write infra providers, and for those who run them.
import { resolve } from 'node:path'
import { shownLine } from '#lib/printable.ts'
import { Argument, type Command, Option } from 'commander'
import { systemClock } from '#lib/system-clock.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { silentLogger } from '#lib/log.ts'
import type { RemotePlace } from '#providers/remote/place.ts'
import type { Io } from '#lib/terminal/io.ts'
import { outputOption } from '../output.ts'
import { connect, type ServerOptions, withServer } from './inspect.ts'
import { providerErrors } from '#providers/remote/provider-errors.ts'
import type { ServeOptions } from '#programs/serve-provider.ts'

interface PlaceOptions {
  readonly socket?: string
  readonly url?: string
  readonly ca?: string
  readonly tokenFile?: string
}

interface ConformanceOptions extends PlaceOptions {
  readonly params?: readonly string[]
  readonly timeout: string
  readonly output?: 'json'
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

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
      collect,
    )
    .option('--timeout <duration>', 'longest time of one case', '10m')
    .addOption(outputOption(['json']))
    .action((options: ConformanceOptions) => conformance(options, io))
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
      .option('--delete <host>', 'approve that the controllers delete this host; can be repeated', collect)
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
  io.out(`${JSON.stringify(make({ region, cluster: tag, ...(hostRole !== undefined && { hostRole }) }), null, 2)}\n`)
}

async function conformance(options: ConformanceOptions, io: Io): Promise<void> {
  const withinMs = durationMs(options.timeout) ?? 0
  if (withinMs <= 0) throw new KubeNodeError(providerErrors.KN1702({ timeout: JSON.stringify(options.timeout) }))
  const params = Object.fromEntries((options.params ?? []).map(paramOf))
  const place = placeOf(options, io.cwd)
  const { runConformance } = await import('#providers/remote/check-conformance.ts')
  const isJson = options.output === 'json'
  await runConformance({ place, params, withinMs, isJson, clock: systemClock, log: silentLogger }, io)
}

async function serving(options: ServeOptions, io: Io): Promise<void> {
  const at = (file: string) => resolve(io.cwd, file)
  const { providers, socket, cert, key, tokenFile } = options
  const { serve } = await import('#programs/serve-provider.ts')
  await serve({
    ...options,
    providers: at(providers),
    ...(socket !== undefined && { socket: at(socket) }),
    ...(cert !== undefined && { cert: at(cert) }),
    ...(key !== undefined && { key: at(key) }),
    ...(tokenFile !== undefined && { tokenFile: at(tokenFile) }),
  })
}

function paramOf(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw new KubeNodeError(providerErrors.KN1701({ text: JSON.stringify(text) }))
  return [text.slice(0, at), text.slice(at + 1)]
}

function placeOf({ socket, url, ca, tokenFile }: PlaceOptions, cwd: string): RemotePlace {
  if (socket !== undefined && url === undefined) return { kind: 'Socket', path: resolve(cwd, socket) }
  if (socket !== undefined || url === undefined || ca === undefined || URL.parse(url)?.protocol !== 'https:')
    throw new KubeNodeError(providerErrors.KN1700())
  const token = tokenFile === undefined ? {} : { tokenFile: resolve(cwd, tokenFile) }
  return { kind: 'Https', url, ca: resolve(cwd, ca), ...token }
}
