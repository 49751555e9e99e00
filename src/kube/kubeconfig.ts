// Loads a user's own kubeconfig, or the service account of our pod, through client-node: the only file that loads it, and only when called.
import { readFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { RequestOptions } from 'node:https'
import type { KubeConfig, User } from '@kubernetes/client-node'
import { parseDocuments } from '#lib/documents.ts'
import { isKubeNodeError, KubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { ConnectionConfig, Identity, Source } from './http/connection.ts'
import { kubeErrors } from './kube-errors.ts'

export interface LoadedKubeconfig {
  readonly config: ConnectionConfig
  readonly context: string
  /** To be shown to the user prominently. */
  readonly warnings: readonly string[]
}

export interface KubeconfigChoice {
  /** One or more files, as in KUBECONFIG; the first that says something wins. */
  readonly files: readonly string[]
  readonly context?: string
}

/** client-node weighs tens of megabytes: agents and quick commands must never load it by an import of this file. */
const loadLibrary = () => import('@kubernetes/client-node')

/** client-node keeps what a plugin answered until it expires; asking it again costs nothing. */
const ASK_AGAIN_MS = 60_000

export async function loadKubeconfig({ files, context }: KubeconfigChoice): Promise<LoadedKubeconfig> {
  const { KubeConfig } = await loadLibrary()
  const all = new KubeConfig()
  const tokenFiles = new Map<string, string>()
  for (const file of files) {
    const one = new KubeConfig()
    let tokens: ReadonlyMap<string, string>
    try {
      const { size } = await stat(file)
      if (size > MAX_FILE_BYTES) throw unreadable(file, `larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB`)
      // Before the library parses it: it follows aliases without end.
      tokens = tokenFilesIn(file, await readFile(file, 'utf8'))
      one.loadFromFile(file)
    } catch (e) {
      throw isKubeNodeError(e) ? e : unreadable(file, reasonOf(e))
    }
    for (const [user, path] of tokens) if (!tokenFiles.has(user)) tokenFiles.set(user, path)
    merge(all, one)
  }
  const name = context ?? all.currentContext
  if (all.getContextObject(name) === null) {
    const known = all.contexts.map((c) => c.name).join(', ')
    throw new KubeNodeError(
      kubeErrors.KN2015({
        context: JSON.stringify(name),
        files: files.join(', '),
        known: known === '' ? 'none' : known,
      }),
    )
  }
  all.setCurrentContext(name)
  return connectionOf(all, tokenFiles)
}

/** The service account that Kubernetes mounted into this pod. */
export async function loadInCluster(): Promise<LoadedKubeconfig> {
  const { KubeConfig } = await loadLibrary()
  const kc = new KubeConfig()
  kc.loadFromCluster()
  const loaded = connectionOf(kc, new Map())
  if (/undefined/.test(loaded.config.server)) throw new KubeNodeError(kubeErrors.KN2017())
  return loaded
}

/** A thousand clusters with their certificates. */
const MAX_FILE_BYTES = 8 * 1024 * 1024

/** The parser's words may quote the file, and the file holds credentials. */
const reasonOf = (e: unknown): string =>
  e instanceof Error && 'code' in e ? String(e.code) : 'not a well-formed kubeconfig'

const unreadable = (file: string, code: string): KubeNodeError => new KubeNodeError(kubeErrors.KN2016({ file, code }))

/** The first definition of a name wins, as kubectl has it. */
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

/** client-node reads token files once or not at all; ours are read again when they rotate. */
function tokenFilesIn(file: string, text: string): ReadonlyMap<string, string> {
  const out = new Map<string, string>()
  const { documents, problems } = parseDocuments(text)
  if (problems.some((p) => p.message.includes('aliases')))
    throw unreadable(file, 'it has more YAML aliases than can be followed; write the values out')
  const value = documents[0]?.value
  const users: unknown = isObject(value) ? value['users'] : undefined
  for (const entry of Array.isArray(users) ? (users as unknown[]) : []) {
    if (!isObject(entry) || !isObject(entry['user']) || typeof entry['name'] !== 'string') continue
    const path = entry['user']['tokenFile']
    if (typeof path === 'string') out.set(entry['name'], resolve(dirname(file), path))
  }
  return out
}

function connectionOf(kc: KubeConfig, tokenFiles: ReadonlyMap<string, string>): LoadedKubeconfig {
  const context = kc.getContextObject(kc.currentContext)
  const cluster = kc.getCurrentCluster()
  const user = kc.getCurrentUser()
  if (context === null || cluster === null)
    throw new KubeNodeError(kubeErrors.KN2024({ context: JSON.stringify(kc.currentContext) }))
  if (cluster.proxyUrl) throw new KubeNodeError(kubeErrors.KN2018({ cluster: cluster.name }))
  const ca = sourceOf(cluster.caData, cluster.caFile)
  const warnings = cluster.skipTLSVerify
    ? [
        `the certificate of cluster ${cluster.name} is NOT verified (insecure-skip-tls-verify): traffic can be read and changed on the network`,
      ]
    : []
  const config: ConnectionConfig = {
    server: cluster.server,
    ...(ca === undefined ? {} : { ca }),
    ...(cluster.tlsServerName ? { tlsServerName: cluster.tlsServerName } : {}),
    ...(cluster.skipTLSVerify ? { insecureSkipTlsVerify: true } : {}),
    ...(context.namespace ? { namespace: context.namespace } : {}),
    ...(user === null ? {} : userPart(kc, user, tokenFiles.get(user.name))),
  }
  return { config, context: kc.currentContext, warnings }
}

function userPart(kc: KubeConfig, user: User, tokenFile: string | undefined): Partial<ConnectionConfig> {
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
    ...(user.impersonateUser ? { impersonate: { user: user.impersonateUser } } : {}),
    ...(cert === undefined || key === undefined ? {} : { clientCertificate: { cert, key } }),
    ...(path !== undefined ? { token: { file: path } } : user.token ? { token: { data: user.token } } : {}),
    ...(isPlugin ? { identity: () => identityOf(kc, user.name) } : {}),
  }
}

const sourceOf = (data: string | undefined, file: string | undefined): Source | undefined =>
  data ? { data: Buffer.from(data, 'base64').toString() } : file ? { file } : undefined

async function identityOf(kc: KubeConfig, user: string): Promise<Identity> {
  const options: RequestOptions = {}
  try {
    await kc.applyToHTTPSOptions(options)
  } catch (e) {
    throw new KubeNodeError(kubeErrors.KN2025({ user, why: (messageOf(e).split('\n')[0] ?? '').slice(0, 300) }), {
      retry: 'later',
    })
  }
  const headers = options.headers
  const header = isObject(headers) ? headers['Authorization'] : undefined
  const token = typeof header === 'string' ? /^Bearer (.+)$/.exec(header)?.[1] : undefined
  const { cert, key } = options
  return {
    ...(token === undefined ? {} : { token }),
    ...(cert && key ? { clientCertificate: { cert: String(cert), key: String(key) } } : {}),
    goodForMs: ASK_AGAIN_MS,
  }
}
