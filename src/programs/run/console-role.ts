// The console role: the page in a cluster, over TLS, for people who sign in. Background reads use its own account; everything a user sees or writes is
// requested as that user.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type RunningConsole, startConsole } from '#console/server/console.ts'
import { consoleErrors } from '#console/server/console-errors.ts'
import type { Pair } from '#console/server/listener.ts'
import { readPage } from '#console/server/page-files.ts'
import { OidcSignIn } from '#console/server/sign-in/oidc/code-flow.ts'
import { Issuer } from '#console/server/sign-in/oidc/issuer.ts'
import type { ConnectAs } from '#console/server/sign-in/own-clients.ts'
import { ProxyPeople } from '#console/server/sign-in/proxy.ts'
import type { ConsoleFile } from '#console/server/sign-in/sign-in-settings.ts'
import { TokenSignIn } from '#console/server/sign-in/token.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import type { Part } from '#runtime/manager.ts'
import { VERSION } from '#lib/program-version.ts'
import { allConnections } from './all-connections.ts'
import { consoleClient } from './console-client.ts'
import type { ServedConsole } from './console-file.ts'
import type { RoleContext } from './role.ts'

export interface ConsoleOptions extends ServedConsole {
  /** The cluster this program runs in, which authenticates the users. */
  readonly cluster: string
  readonly connection: ConnectionConfig
  /** The folder of a recorded history, if this program has one. */
  readonly history?: string | undefined
  readonly context: Pick<RoleContext, 'clock' | 'random' | 'log'>
}

export class ConsolePart implements Part {
  readonly name = 'console'
  readonly #options: ConsoleOptions
  readonly #clients: ReturnType<typeof consoleClient>[] = []
  #running: RunningConsole | undefined

  constructor(options: ConsoleOptions) {
    this.#options = options
  }

  get port(): number | undefined {
    return this.#running?.port
  }

  async start(): Promise<void> {
    const { at, file, cluster, connection, context, history } = this.#options
    const configs = new Map([[cluster, connection], ...(await furtherClusters(file.clusters))])
    const clients = new Map([...configs].map(([name, config]) => [name, consoleClient(config)]))
    this.#clients.push(...clients.values())
    const { proxy } = file
    this.#running = await startConsole({
      ...at,
      ...context,
      clients,
      history,
      page: readPage(undefined, file.path),
      version: VERSION,
      names: file.names,
      signIn: {
        ...doorsOf(this.#options, connectAs(configs), [...configs.keys()]),
        tls: { pair: () => pairIn(file), ...(proxy !== undefined && { clientCa: proxy.clientCa }) },
      },
    })
    context.log.info('serving the console', { port: this.#running.port, clusters: configs.size })
  }

  /** Reloads its certificate files as soon as they change. */
  async reload(): Promise<void> {
    await this.#running?.reload()
  }

  async stop(): Promise<void> {
    await this.#running?.stop()
    for (const client of this.#clients) client.close()
  }
}

async function furtherClusters(kubeconfig: string | undefined): Promise<ReadonlyMap<string, ConnectionConfig>> {
  if (kubeconfig === undefined) return new Map()
  const found = await allConnections({ file: kubeconfig, contexts: [], env: {}, cwd: '/' })
  return new Map([...found].map(([name, { config }]) => [name, config]))
}

/** Behind a proxy there is no other way in. */
function doorsOf({ cluster, file, context }: ConsoleOptions, connect: ConnectAs, clusters: readonly string[]) {
  const { proxy, oidc, tokens, clientSecret } = file
  if (proxy !== undefined) {
    const [userHeader, groupHeader] = [proxy.userHeader.toLowerCase(), proxy.groupHeader.toLowerCase()]
    return { proxy: new ProxyPeople({ ...proxy, userHeader, groupHeader }, connect, clusters) }
  }
  const { clock, log } = context
  const issuer = oidc && {
    issuer: new Issuer({
      url: oidc.issuer,
      clientId: oidc.clientId,
      ...(clientSecret !== undefined && { clientSecret: async () => (await readFile(clientSecret, 'utf8')).trim() }),
      ...defined({ ca: oidc.ca }),
      clock,
    }),
    scopes: oidc.scopes,
    clusters: [cluster, ...oidc.clusters.filter((c) => c !== cluster)] as const,
    connect,
    clock,
    log,
  }
  return {
    ...(tokens && { token: new TokenSignIn(connect, cluster) }),
    ...(issuer !== undefined && { oidc: new OidcSignIn(issuer) }),
  }
}

/** Uses nothing of the console's own identity, except when impersonating. */
const connectAs =
  (configs: ReadonlyMap<string, ConnectionConfig>): ConnectAs =>
  (cluster, identity) => {
    const config = configs.get(cluster)
    if (config === undefined) return undefined
    if (identity.kind === 'Impersonated') {
      const { user, groups } = identity
      return consoleClient({ ...config, impersonate: { user, groups } })
    }
    const { server, ca, tlsServerName, proxy, insecureSkipTlsVerify } = config
    // Another server could capture the token.
    if (insecureSkipTlsVerify === true) return undefined
    const place: ConnectionConfig = {
      server,
      ...defined({ ca, tlsServerName, proxy }),
    }
    return identity.kind === 'Token'
      ? consoleClient({ ...place, token: { data: identity.token } })
      : consoleClient({ ...place, identity: identity.next })
  }

/** Throws if the two do not match, as between two writes. */
async function pairIn({ cert, key }: Pick<ConsoleFile, 'cert' | 'key'>): Promise<Pair> {
  try {
    const pair = { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') }
    if (!new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key)))
      throw new Error(`${key} is not its key`)
    return pair
  } catch (e) {
    throw new KubeNodeError(consoleErrors.KN1329_console({ file: cert, why: messageOf(e) }), {
      retry: 'later',
      cause: e,
    })
  }
}
