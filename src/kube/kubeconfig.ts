// Loads a user's own kubeconfig through client-node. Only this file loads client-node, and only when called.
import { readFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Cluster, KubeConfig, User } from '@kubernetes/client-node'
import { defined } from '#lib/defined.ts'
import { parseDocuments } from '#lib/documents.ts'
import { isKubeNodeError, KubeNodeError } from '#lib/errors.ts'
import { fieldAt, listOf, objectsIn, textOf } from '#lib/fields.ts'
import { isObject } from '#lib/json.ts'
import type { ConnectionConfig, Source } from './http/connection.ts'
import { kubeErrors } from './kube-errors.ts'
import type { ShowLine } from './login-program.ts'
import { pluginIdentity } from './plugin-identity.ts'

export interface LoadedKubeconfig {
  readonly config: ConnectionConfig
  readonly context: string
  /** To be shown to the user prominently. */
  readonly warnings: readonly string[]
}

export interface KubeconfigChoice {
  /** One or more files, as in KUBECONFIG; the first definition wins. */
  readonly files: readonly string[]
  readonly context?: string
  /** Set at an interactive terminal: a login program may prompt there, and its messages are shown. */
  readonly show?: ShowLine | undefined
}

/** client-node takes tens of megabytes: importing this file must not load it into agents and quick commands. */
const loadLibrary = () => import('@kubernetes/client-node')

export async function loadKubeconfig({ files, context, show }: KubeconfigChoice): Promise<LoadedKubeconfig> {
  const { KubeConfig } = await loadLibrary()
  const all = new KubeConfig()
  const extras = new Map<string, Extras>()
  const execConfigs = new Map<string, unknown>()
  for (const file of files) {
    const one = new KubeConfig()
    let users: ReadonlyMap<string, Extras>
    let clusters: ReadonlyMap<string, unknown>
    try {
      const { size } = await stat(file)
      if (size > MAX_FILE_BYTES) throw unreadable(file, `larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB`)
      // Parsed here: the library follows aliases without limit, and reads a token that resembles a date as one.
      const value = kubeconfigIn(file, await readFile(file, 'utf8'))
      users = extrasIn(file, value)
      clusters = execConfigsIn(value)
      one.loadFromString(JSON.stringify(value))
      one.makePathsAbsolute(dirname(file))
    } catch (e) {
      throw isKubeNodeError(e) ? e : unreadable(file, reasonOf(e))
    }
    for (const [user, extra] of users) if (!extras.has(user)) extras.set(user, extra)
    for (const [cluster, config] of clusters) if (!execConfigs.has(cluster)) execConfigs.set(cluster, config)
    merge(all, one)
  }
  const name = context ?? all.currentContext
  if (all.getContextObject(name) === null) {
    const known = all.contexts.map((c) => c.name).join(', ') || 'none'
    const where = { files: files.join(', '), known }
    throw new KubeNodeError(
      // A merged or new file may have none.
      context === undefined && !name
        ? kubeErrors.KN2015_none(where)
        : kubeErrors.KN2015({ ...where, context: JSON.stringify(name) }),
    )
  }
  all.setCurrentContext(name)
  const fresh = (): KubeConfig => {
    const copy = new KubeConfig()
    copy.loadFromOptions(all)
    return copy
  }
  return connectionOf(all, { extras, execConfigs, fresh, show })
}

/** Room for a thousand clusters with certificates. */
const MAX_FILE_BYTES = 8 * 1024 * 1024

/** The parser's message may quote the file, which contains credentials. */
const reasonOf = (e: unknown): string =>
  e instanceof Error && 'code' in e ? String(e.code) : 'not a well-formed kubeconfig'

const unreadable = (file: string, code: string): KubeNodeError =>
  new KubeNodeError(kubeErrors.KN1301_parse({ file, code }))

/** The first definition of a name wins, as in kubectl. */
function merge(into: KubeConfig, from: KubeConfig): void {
  const added = <T extends { readonly name: string }>(have: readonly T[] | undefined, more: readonly T[]): T[] => [
    ...(have ?? []),
    ...more.filter((m) => !have?.some((h) => h.name === m.name)),
  ]
  into.clusters = added(into.clusters, from.clusters)
  into.users = added(into.users, from.users)
  into.contexts = added(into.contexts, from.contexts)
  if (!into.currentContext) into.currentContext = from.currentContext
}

/** User settings that client-node ignores or reads only once. */
interface Extras {
  /** Read again as it rotates. */
  readonly tokenFile?: string
  readonly groups?: readonly string[]
}

function kubeconfigIn(file: string, text: string): Fields {
  const { documents, problems } = parseDocuments(text)
  if (problems.some((p) => p.message.includes('aliases')))
    throw unreadable(file, 'it has more YAML aliases than can be followed; write the values out')
  const value = documents[0]?.value
  if (problems.length > 0 || documents.length !== 1 || !isObject(value))
    throw unreadable(file, 'not a well-formed kubeconfig')
  return value
}

type Fields = Readonly<Record<string, unknown>>

/** Silently dropping one would act as a different user than the file names. */
const UNSUPPORTED = ['as-uid', 'as-user-extra']

function extrasIn(file: string, kubeconfig: Fields): ReadonlyMap<string, Extras> {
  const out = new Map<string, Extras>()
  const users: unknown = kubeconfig['users']
  for (const entry of Array.isArray(users) ? (users as unknown[]) : []) {
    if (!isObject(entry) || !isObject(entry['user']) || typeof entry['name'] !== 'string') continue
    const { name, user } = entry as { readonly name: string; readonly user: Record<string, unknown> }
    const field = UNSUPPORTED.find((f) => user[f] !== undefined)
    if (field !== undefined) throw new KubeNodeError(kubeErrors.KN2019_field({ file, user: name, field }))
    const path = user['tokenFile'] ?? user['token-file']
    // The library would read it now and never again.
    delete user['token-file']
    const groups = user['as-groups']
    out.set(name, {
      ...(typeof path === 'string' && { tokenFile: resolve(dirname(file), path) }),
      ...(Array.isArray(groups) && { groups: groups.map(String) }),
    })
    if (isObject(user['exec'])) user['exec'] = programOf(user['exec'], dirname(file))
  }
  return out
}

/** Like kubectl: a program name with a slash is relative to the file. client-node passes the environment only to a program with its own variables. */
function programOf(exec: Fields, folder: string): Fields {
  const { command, env } = exec
  const path = typeof command === 'string' && command.includes('/') ? resolve(folder, command) : command
  return { ...exec, command: path, env: listOf(env) }
}

const EXEC_EXTENSION = 'client.authentication.k8s.io/exec'

/** Per cluster: the config its file passes to login programs. */
const execConfigsIn = (kubeconfig: Fields): ReadonlyMap<string, unknown> =>
  new Map(
    objectsIn(kubeconfig['clusters']).map(({ name, cluster }) => [
      textOf(name),
      objectsIn(fieldAt(cluster, 'extensions')).find((e) => e['name'] === EXEC_EXTENSION)?.['extension'],
    ]),
  )

/** Field names of client.authentication.k8s.io. */
const infoOf = async (cluster: Cluster, config: unknown): Promise<object> => ({
  server: cluster.server,
  ...defined({
    'tls-server-name': cluster.tlsServerName,
    'insecure-skip-tls-verify': cluster.skipTLSVerify || undefined,
    'certificate-authority-data':
      cluster.caData ?? (cluster.caFile ? await readFile(cluster.caFile, 'base64') : undefined),
    'proxy-url': cluster.proxyUrl,
    config,
  }),
})

interface Around {
  readonly extras: ReadonlyMap<string, Extras>
  readonly execConfigs: ReadonlyMap<string, unknown>
  readonly fresh: () => KubeConfig
  readonly show: ShowLine | undefined
}

function connectionOf(kc: KubeConfig, { extras, execConfigs, fresh, show }: Around): LoadedKubeconfig {
  const context = kc.getContextObject(kc.currentContext)
  const cluster = kc.getCurrentCluster()
  const user = kc.getCurrentUser()
  if (context === null || cluster === null)
    throw new KubeNodeError(kubeErrors.KN2015_cluster({ context: JSON.stringify(kc.currentContext) }))
  const proxy = proxyOf(cluster)
  const ca = sourceOf(cluster.caData, cluster.caFile)
  const clusterInfo = async () =>
    fieldAt(user?.exec, 'provideClusterInfo') === true ? infoOf(cluster, execConfigs.get(cluster.name)) : undefined
  const warnings = cluster.skipTLSVerify
    ? [
        `the certificate of cluster ${cluster.name} is NOT verified (insecure-skip-tls-verify): traffic can be read and changed on the network`,
      ]
    : []
  const config: ConnectionConfig = {
    server: URL.parse(cluster.server)?.href.replace(/\/$/, '') ?? cluster.server,
    ...defined({ ca, proxy }),
    ...(cluster.tlsServerName ? { tlsServerName: cluster.tlsServerName } : {}),
    ...(cluster.skipTLSVerify ? { insecureSkipTlsVerify: true } : {}),
    ...(context.namespace ? { namespace: context.namespace } : {}),
    ...(user === null
      ? {}
      : userPart(user, extras.get(user.name) ?? {}, () => pluginIdentity({ fresh, user, clusterInfo, show }))),
  }
  return { config, context: kc.currentContext, warnings }
}

/** Node connects to proxies over http and https. */
function proxyOf({ name, proxyUrl }: Cluster): ConnectionConfig['proxy'] {
  if (!proxyUrl) return undefined
  const { protocol } = URL.parse(proxyUrl) ?? {}
  if (protocol !== 'http:' && protocol !== 'https:') throw new KubeNodeError(kubeErrors.KN2010_proxy({ cluster: name }))
  return { HTTPS_PROXY: proxyUrl }
}

function userPart(
  user: User,
  { tokenFile, groups }: Extras,
  plugin: () => NonNullable<ConnectionConfig['identity']>,
): Partial<ConnectionConfig> {
  if (user.username || user.password) throw new KubeNodeError(kubeErrors.KN2019({ user: user.name }))
  const provider: unknown = user.authProvider
  const mounted = isObject(provider) && isObject(provider['config']) ? provider['config']['tokenFile'] : undefined
  const path = tokenFile ?? (typeof mounted === 'string' ? mounted : undefined)
  const cert = sourceOf(user.certData, user.certFile)
  const key = sourceOf(user.keyData, user.keyFile)
  const isPlugin =
    path === undefined &&
    (user.exec !== undefined && user.exec !== null ? true : provider !== undefined && provider !== null)
  return {
    ...(user.impersonateUser ? { impersonate: { user: user.impersonateUser, ...defined({ groups }) } } : {}),
    ...(cert === undefined || key === undefined ? {} : { clientCertificate: { cert, key } }),
    ...(path !== undefined ? { token: { file: path } } : user.token ? { token: { data: user.token } } : {}),
    ...(isPlugin ? { identity: plugin() } : {}),
  }
}

const sourceOf = (data: string | undefined, file: string | undefined): Source | undefined =>
  data ? { data: Buffer.from(data, 'base64').toString() } : file ? { file } : undefined
