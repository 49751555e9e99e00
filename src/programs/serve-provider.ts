// `kubenode provider serve`: serves the providers of a providers file to controllers elsewhere. It never talks to Kubernetes, so it needs no identity there. It
// holds the provider's keys, so that the controllers do not.
import { realpathSync } from 'node:fs'
import { execPath } from 'node:process'
import { dirname } from 'node:path'
import { readBoundedText } from '#lib/bounded-file.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { pinoLogger } from '#lib/log-pino.ts'
import { keepFilesPrivate, letOthersRead } from '#lib/private-folder.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import type { Provider } from '#providers/port.ts'
import { readProvidersFile, type ServedProvider } from '#providers/providers-file.ts'
import type { ProviderTools } from '#providers/definition.ts'
import {
  type ServedPlace,
  type ServedProviders,
  serveProvider,
  serveProviders,
  type ServingKeys,
} from '#providers/remote/server.ts'
import { Health } from '#runtime/health.ts'
import { StatusHttp } from '#runtime/http.ts'
import { RepeatedCheck } from '#runtime/repeated-check.ts'
import { compileCache } from '#lib/compile-cache.ts'
import { addressIn } from './run/listeners.ts'
import { entryBeside } from './entry-beside.ts'
import { requireTrustedFolder } from '#lib/trusted-folder.ts'
import { untilEnded } from '#runtime/until-ended.ts'
import { userData } from '#agent/join/user-data.ts'
import { providerErrors } from '#providers/remote/provider-errors.ts'

export interface ServeOptions {
  readonly providers: string
  readonly name?: string
  readonly socket?: string
  readonly listen?: string
  readonly cert?: string
  readonly key?: string
  readonly tokenFile?: string
  readonly healthListen?: string
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}

interface KeyFiles {
  readonly cert: string
  readonly key: string
  readonly tokenFile: string
}

/** A mounted Secret is up to date within two minutes. */
const FOLLOW_MS = 30_000

export async function serve(options: ServeOptions): Promise<void> {
  const where = placeOf(options)
  const health = options.healthListen === undefined ? undefined : addressIn('--health-listen', options.healthListen)
  const served = chosen(options)
  const log = pinoLogger({ level: options.logLevel })
  for (const path of served.flatMap((p) => p.paths)) requireTrustedFolder(path)
  if (served.some((p) => p.writesForOthers)) letOthersRead()
  else keepFilesPrivate()
  const stop = untilEnded()
  const providers = await Promise.all(served.map((p) => p.create(toolsOf(log))))
  const running = providers.map((p) => p.run?.(stop.signal) ?? Promise.resolve())
  const status = health === undefined ? undefined : new StatusHttp({ ...health, health: new Health(), log })
  const open = await opened(providers, where, log)
  await status?.start()
  log.info('serving providers', { providers: providers.map((p) => p.name), at: open.served.at })
  await new Promise<void>((resolve) => {
    if (stop.signal.aborted) resolve()
    else stop.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  await Promise.all([open.close(), status?.stop(), ...running])
  stop.dispose()
}

type Where =
  | { readonly kind: 'Socket'; readonly path: string }
  | { readonly kind: 'Https'; readonly host: string; readonly port: number; readonly files: KeyFiles }

function placeOf({ socket, listen, cert, key, tokenFile, name }: ServeOptions): Where {
  if (socket !== undefined && listen === undefined && name !== undefined) {
    requireTrustedFolder(dirname(socket))
    return { kind: 'Socket', path: socket }
  }
  if (
    socket !== undefined ||
    listen === undefined ||
    cert === undefined ||
    key === undefined ||
    tokenFile === undefined
  )
    throw new KubeNodeError(providerErrors.KN1002_served())
  return { kind: 'Https', ...addressIn('--listen', listen), files: { cert, key, tokenFile } }
}

function chosen({ providers: file, name }: ServeOptions): readonly ServedProvider[] {
  requireTrustedFolder(file)
  const all = readProvidersFile(file)
  if (name === undefined) return all
  const one = all.filter((p) => p.name === name)
  if (one.length > 0) return one
  const names = all.map((p) => p.name).join(', ')
  throw new KubeNodeError(providerErrors.KN1704({ name: JSON.stringify(name), file, names }))
}

function toolsOf(log: Logger): ProviderTools {
  const running = realpathSync(process.argv[1] ?? execPath)
  const cache = compileCache()
  return {
    clock: systemClock,
    log,
    node: execPath,
    entries: { agent: entryBeside(running, 'agent-main'), hollow: entryBeside(running, 'hollow-main') },
    ...defined({ compileCache: cache }),
    env: process.env,
    userData,
  }
}

interface Open {
  readonly served: ServedProviders
  close(): Promise<void>
}

async function opened(providers: readonly Provider[], where: Where, log: Logger): Promise<Open> {
  const tools = { clock: systemClock, log }
  const [only] = providers
  if (where.kind === 'Socket' && only !== undefined) {
    const served = await serveProvider(only, where, tools)
    return { served, close: () => served.close() }
  }
  if (where.kind === 'Socket') throw new Error('no provider was chosen')
  const { files, ...at } = where
  let keys = keysIn(files)
  const served = await serveProviders(providers, { ...at, keys } satisfies ServedPlace, tools)
  const repeated = new RepeatedCheck(systemClock)
  repeated.start(
    () => FOLLOW_MS,
    async () => {
      try {
        const now = keysIn(files)
        if (JSON.stringify(now) === JSON.stringify(keys)) return
        served.renew(now)
        keys = now
        log.info('providers are served with a new certificate or token')
      } catch (error) {
        log.error('cannot read the certificate and the token of providers', { error: messageOf(error) })
      }
    },
  )
  return {
    served,
    close: async () => {
      await repeated.stop()
      await served.close()
    },
  }
}

/** An empty token would let anyone in. */
const SHORTEST_TOKEN = 16

function keysIn({ cert, key, tokenFile }: KeyFiles): ServingKeys {
  const read = (file: string): string => {
    try {
      return readBoundedText(file)
    } catch (cause) {
      throw new KubeNodeError(providerErrors.KN1329_provider({ file, why: systemTrouble(cause) }), { cause })
    }
  }
  const token = read(tokenFile).trim()
  if (token.length < SHORTEST_TOKEN)
    throw new KubeNodeError(
      providerErrors.KN1329_provider({
        file: tokenFile,
        why: `the token has ${token.length} characters, at least ${SHORTEST_TOKEN} are wanted`,
      }),
    )
  return { cert: read(cert), key: read(key), token }
}
