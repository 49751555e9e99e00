// `kubenode provider …`: for people who write infra providers, and for those who run them.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { systemClock } from '#lib/clock.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { silentLogger } from '#lib/log.ts'
import type { RemotePlace } from '#providers/remote/place.ts'
import type { Io } from '../io.ts'
import { outputOption } from '../output.ts'
import { providerErrors } from '../provider/provider-errors.ts'

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
  const provider = program.command('provider').description('infra providers: test one of your own')
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
}

async function conformance(options: ConformanceOptions, io: Io): Promise<void> {
  const withinMs = durationMs(options.timeout) ?? 0
  if (withinMs <= 0) throw new KubeNodeError(providerErrors.KN1702({ timeout: JSON.stringify(options.timeout) }))
  const params = Object.fromEntries((options.params ?? []).map(paramOf))
  const place = placeOf(options, io.cwd)
  const { runConformance } = await import('../provider/conformance.ts')
  const isJson = options.output === 'json'
  await runConformance({ place, params, withinMs, isJson, clock: systemClock, log: silentLogger }, io)
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
