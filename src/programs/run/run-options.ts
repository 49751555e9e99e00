// The options of `kubenode run`, validated before any request.
import { mkdirSync, realpathSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { GIB, MIB } from '#lib/bytes.ts'
import { defined } from '#lib/defined.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import { isLife } from '#identity/certificate-life.ts'
import type { AgentIdentity } from '#identity/token-life.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { type Environment, isInPod } from '#kube/in-cluster.ts'
import { defaultProviders, readProvidersFile } from '#providers/providers-file.ts'
import type { Rehearsal } from '#sync/rehearsal/rehearsed.ts'
import { parsePlaces } from '#runtime/outbound/places.ts'
import { DEFAULT_BOUNDS } from '#history/record/bounds.ts'
import { readText } from '#artifacts/authoring/statement-file.ts'
import { requireTrustedFolder } from '#lib/trusted-folder.ts'
import { type ArtifactsOptions, artifactsConfigOf, authorityIn } from './artifacts-options.ts'
import { readConsoleFile } from './console-file.ts'
import { addressIn, type ListenOptions } from './listeners.ts'
import { type RENDER_PLACES, renderImageOf, renderPlacementOf } from './render-place.ts'
import { entryBeside } from '../entry-beside.ts'
import { placeText } from '../planes/plane-calls.ts'
import { ROLE_NAMES, type RoleName } from '../all.ts'
import type { ArtifactTrust, RolesConfig } from '../roles/config.ts'
import { hostedConfigOf, type HostedOptions } from '../hosted/hosted-options.ts'
import { runErrors } from './run-errors.ts'

export interface RunOptions extends ArtifactsOptions, HostedOptions, ListenOptions {
  readonly roles: string
  readonly kubeconfig?: readonly string[]
  readonly sharedIdentity?: boolean
  readonly context?: string
  readonly cluster?: string
  readonly providers?: string
  readonly providersShared?: boolean
  readonly artifactBase?: string
  readonly joinScript?: string
  readonly artifactCa?: string
  readonly artifactTrust?: ArtifactTrust
  readonly trust?: string
  readonly hub?: boolean
  readonly controlPlanes?: string
  readonly history?: string
  readonly historyDays?: string
  readonly historySize?: string
  readonly consoleConfig?: string
  readonly consoleListen?: string
  readonly controlPlaneVersions?: string
  readonly webhookHost?: string
  readonly webhookService?: string
  readonly webhookListen?: string
  readonly webhookPort: string
  readonly webhookClientCa?: string
  readonly webhookAnnounce?: string
  readonly prometheusUrl?: string
  readonly inspectionAllow?: string
  readonly callAllow?: string
  readonly certificateLife?: string
  readonly agentIdentity?: AgentIdentity
  readonly cache: string
  readonly maxRepository: string
  readonly hooksListen?: string
  readonly localRepository?: readonly string[]
  readonly rehearse?: Rehearsal['provider']
  readonly rehearseNodes?: string
  readonly gitAllow?: string
  readonly weakCage: 'allow' | 'refuse'
  readonly render?: (typeof RENDER_PLACES)[number]
  readonly renderImage?: string
  readonly renderPlacement?: string
  readonly hostServer?: string
  readonly hostCa?: string
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}

/** `--roles sync,controllers`. */
export const rolesIn = (list: string): readonly RoleName[] =>
  list.split(',').map((r) => {
    const known = ROLE_NAMES.find((n) => n === r.trim())
    if (known === undefined)
      throw new KubeNodeError(runErrors.KN1002_role({ r: JSON.stringify(r), roleNames: ROLE_NAMES.join(', ') }))
    return known
  })

/** Everything except what a role's connection provides about its cluster. */
export function configOf(
  options: RunOptions,
  roles: readonly RoleName[],
  env: Environment,
): Omit<RolesConfig, keyof ClusterConfig> {
  const { artifactCa, trust } = options
  const renderImage = roles.includes('sync') ? renderImageOf({ ...options, env }) : undefined
  const renderPlacement = renderPlacementOf(options.renderPlacement)
  const artifacts = roles.includes('artifacts') ? artifactsConfigOf(options) : undefined
  const outbound = parsePlaces(listOf(options.callAllow))
  // Those of hosted programs are read by their processes: each Cluster may have files of its own.
  const providers = roles.includes('hosted') ? defaultProviders() : providersOf(options)
  // A kubelet makes volumes writable for everyone, and only gives them to pods without other users.
  const copies = roles.includes('sync') && !isInPod(env) ? [options.cache] : []
  // These folders hold programs to run and files to trust.
  for (const path of [...providers.flatMap((p) => p.paths), ...copies]) requireTrustedFolder(path)
  // In an image this name is a link.
  const running = realpathSync(process.argv[1] ?? process.execPath)
  return {
    providers,
    ...(options.providersShared === true && { areProvidersShared: true }),
    artifactBase: options.artifactBase ?? '',
    ...joinScriptOf(options),
    ...(artifactCa !== undefined && { artifactCaData: authorityIn(artifactCa) }),
    ...defined({ artifactTrust: options.artifactTrust }),
    ...defined({ artifacts }),
    ...historyOf(options, roles),
    ...consoleOf(options, roles),
    ...defined({ trust, controlPlanes: options.controlPlanes, controlPlaneVersions: options.controlPlaneVersions }),
    ...(options.hostPrograms === true && { hostsPrograms: true }),
    ...defined({ programsInClusters: options.programsInClusters }),
    ...(roles.includes('hosted') && { hosted: hostedConfigOf(options, env) }),
    ...webhookOf(options),
    inspections: inspectionsOf(options),
    outbound,
    ...lifeOf(options),
    ...defined({ agentIdentity: options.agentIdentity }),
    isHub: roles.includes('sync') || options.hub === true,
    cache: options.cache,
    maxRepositoryBytes: maxRepositoryBytes(options),
    ...(options.hooksListen !== undefined && { hooks: addressIn('--hooks-listen', options.hooksListen) }),
    weakCage: options.weakCage,
    ...defined({ renderImage, renderPlacement }),
    gitEnv: { PATH: env['PATH'] ?? '', ...defined({ HOME: env['HOME'] }) },
    localRepositories: options.localRepository ?? [],
    ...rehearsalOf(options),
    gitHosts: gitHostsOf(options),
    node: process.execPath,
    entries: { agent: entryBeside(running, 'agent-main'), hollow: entryBeside(running, 'hollow-main') },
  }
}

type ClusterConfig = Pick<RolesConfig, 'cluster' | 'server' | 'ca' | 'connection'>

interface OwnCluster {
  readonly server: string
  readonly ca: () => string
  /** Kubeconfig context; empty in a pod. */
  readonly context: string
  readonly connection: ConnectionConfig
}

/** In a pod the API server has an address that hosts can only reach once they are nodes. */
export function clusterConfigOf({ cluster, hostServer, hostCa }: RunOptions, own: OwnCluster): ClusterConfig {
  if (hostServer !== undefined && URL.parse(hostServer)?.protocol !== 'https:')
    throw new KubeNodeError(runErrors.KN1002_hostServer({ url: JSON.stringify(hostServer) }))
  const ca = hostCa === undefined ? own.ca : () => readText(hostCa, 'authority of the API server')
  // Reports an unreadable file at startup.
  ca()
  const name = cluster ?? own.context
  if (name === '') throw new KubeNodeError(runErrors.KN1002_cluster())
  return { server: hostServer ?? own.server, ca, cluster: name, connection: own.connection }
}

function historyOf({ history: folder, historyDays, historySize }: RunOptions, roles: readonly RoleName[]) {
  // The console shows what was recorded, where there is something.
  if (roles.includes('console') && !roles.includes('history') && folder === undefined) return {}
  if (!roles.includes('history') && !roles.includes('console')) return {}
  if (folder === undefined) throw new KubeNodeError(runErrors.KN1002_history())
  requireTrustedFolder(folder)
  const days = historyDays === undefined ? DEFAULT_BOUNDS.days : Number(historyDays)
  const maxBytes = historySize === undefined ? DEFAULT_BOUNDS.maxBytes : Number(historySize) * GIB
  return { history: { folder, bounds: { ...DEFAULT_BOUNDS, days, maxBytes } } }
}

const DEFAULT_CONSOLE = '127.0.0.1:0'

/** The file decides who may sign in. */
function consoleOf(
  { consoleConfig: file, consoleListen: at = DEFAULT_CONSOLE }: RunOptions,
  roles: readonly RoleName[],
) {
  if (!roles.includes('console')) return {}
  if (file === undefined) throw new KubeNodeError(runErrors.KN1002_console())
  requireTrustedFolder(file)
  return { console: { at: addressIn('--console-listen', at), file: readConsoleFile(file) } }
}

function providersOf({ providers: file }: RunOptions) {
  if (file === undefined) return defaultProviders()
  requireTrustedFolder(file)
  return readProvidersFile(file)
}

function joinScriptOf({ joinScript }: RunOptions): { readonly joinScript?: string } {
  if (joinScript === undefined) return {}
  if (!/^[0-9a-f]{64}$/.test(joinScript))
    throw new KubeNodeError(runErrors.KN1367({ value: JSON.stringify(joinScript) }))
  return { joinScript }
}

function lifeOf({ certificateLife: text }: RunOptions): { readonly certificateSeconds?: number } {
  if (text === undefined) return {}
  const seconds = (durationMs(text) ?? Number.NaN) / 1_000
  if (!isLife(seconds)) throw new KubeNodeError(runErrors.KN1002_life({ text: JSON.stringify(text) }))
  return { certificateSeconds: seconds }
}

const MAX_PORT = 65_535
const LOOPBACK = '127.0.0.1'

const SERVICE = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)\/([a-z]([a-z0-9-]{0,61}[a-z0-9])?)$/

const LEAST_REPOSITORY_MIB = 16
/** Beyond this, a shell's file size limit is no longer an exact number. */
const MOST_REPOSITORY_MIB = 1024 * 1024

function maxRepositoryBytes({ maxRepository }: RunOptions): number {
  const mib = /^\d{1,7}$/.test(maxRepository) ? Number(maxRepository) : 0
  if (mib < LEAST_REPOSITORY_MIB || mib > MOST_REPOSITORY_MIB)
    throw new KubeNodeError(
      runErrors.KN1002_repositorySize({ seen: JSON.stringify(maxRepository.slice(0, 32)), limit: MOST_REPOSITORY_MIB }),
    )
  return mib * MIB
}

function webhookOf(options: RunOptions) {
  const { webhookHost: host, webhookService: service, webhookListen: listen = LOOPBACK, webhookPort } = options
  const port = Number(webhookPort)
  if (!/^\d+$/.test(webhookPort) || port > MAX_PORT)
    throw new KubeNodeError(
      runErrors.KN1002_webhookPort({ webhookPort: JSON.stringify(webhookPort), maxPort: MAX_PORT }),
    )
  if (host === undefined && service === undefined) return {}
  const [, namespace = '', , name = ''] = SERVICE.exec(service ?? '') ?? []
  if (service !== undefined && (host !== undefined || name === ''))
    throw new KubeNodeError(runErrors.KN1002_service({ service: JSON.stringify(service) }))
  const at = service === undefined ? { host: host ?? '' } : { namespace, name }
  const { webhookClientCa, webhookAnnounce: file } = options
  const clientCa = webhookClientCa === undefined ? undefined : readText(webhookClientCa, 'authority of webhook clients')
  const announce = file === undefined ? undefined : announcedIn(file, listen)
  return {
    webhook: {
      at,
      listen,
      port,
      ...defined({ clientCa, announce }),
    },
  }
}

/** For control planes on this host, which may call no other address of it. */
const announcedIn =
  (file: string, listen: string) =>
  (port: number | undefined): void => {
    if (port === undefined) return rmSync(file, { force: true })
    mkdirSync(dirname(file), { recursive: true })
    writeWholeFile(file, `${placeText(listen, port)}\n`)
  }

const listOf = (text = ''): readonly string[] =>
  text
    .split(',')
    .map((o) => o.trim())
    .filter((o) => o !== '')

const GIT_HOST = /^([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i

function gitHostsOf({ gitAllow }: RunOptions): readonly string[] {
  const hosts = listOf(gitAllow)
  const bad = hosts.find((host) => !GIT_HOST.test(host))
  if (bad !== undefined) throw new KubeNodeError(runErrors.KN1002_gitAllow({ host: JSON.stringify(bad.slice(0, 100)) }))
  return hosts
}

/** Otherwise an invalid URL would only be found in the middle of a rollout. */
function inspectionsOf({ prometheusUrl, inspectionAllow }: RunOptions) {
  const allow = listOf(inspectionAllow)
  for (const url of [...allow, ...(prometheusUrl === undefined ? [] : [prometheusUrl])])
    if (!['http:', 'https:'].includes(URL.parse(url)?.protocol ?? ''))
      throw new KubeNodeError(runErrors.KN1002_inspections({ url: JSON.stringify(url) }))
  return { allow, ...defined({ prometheus: prometheusUrl }) }
}

const rehearsalOf = ({ rehearse, rehearseNodes }: RunOptions): { readonly rehearsal?: Rehearsal } =>
  rehearse === undefined
    ? {}
    : { rehearsal: { provider: rehearse, ...(rehearseNodes !== undefined && { nodes: Number(rehearseNodes) }) } }
