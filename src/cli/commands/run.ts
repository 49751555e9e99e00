// `kubenode run --roles …`: the long-running parts of KubeNode, each role with its own leader election.
import { realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import { readText } from '../artifact/statement-file.ts'
import { weakCageOption } from '../weak-cage.ts'
import { Option } from 'commander'
import type { Command } from 'commander'
import { systemClock } from '#lib/clock.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { EXIT_ERROR, Exit } from '../exit.ts'
import type { Io } from '../io.ts'
import { keepFilesPrivate } from '#lib/private-folder.ts'
import { shownLine } from '#lib/printable.ts'
import { isLife } from '#identity/certificate-life.ts'
import { isInPod } from '#kube/in-cluster.ts'
import { holderName } from '#nodes/own-pods.ts'
import { runErrors } from '../run/run-errors.ts'
import { type ArtifactsOptions, artifactsConfigOf, authorityIn } from '../run/artifacts-options.ts'
import type { ListenOptions } from '../run/listeners.ts'
import { RENDER_PLACES, renderImageOf } from '../run/render-place.ts'
import { requireTrustedFolder } from '../trusted-folder.ts'

interface Options extends ArtifactsOptions, ListenOptions {
  readonly roles: string
  readonly kubeconfig?: readonly string[]
  readonly sharedIdentity?: boolean
  readonly context?: string
  readonly cluster?: string
  readonly providers?: string
  readonly artifactBase?: string
  readonly joinScript?: string
  readonly artifactCa?: string
  readonly trust?: string
  readonly hub?: boolean
  readonly webhookHost?: string
  readonly webhookService?: string
  readonly webhookListen?: string
  readonly webhookPort: string
  readonly webhookClientCa?: string
  readonly prometheusUrl?: string
  readonly inspectionAllow?: string
  readonly callAllow?: string
  readonly certificateLife?: string
  readonly cache: string
  readonly localRepository?: readonly string[]
  readonly weakCage: 'allow' | 'refuse'
  readonly render?: (typeof RENDER_PLACES)[number]
  readonly renderImage?: string
  readonly hostServer?: string
  readonly hostCa?: string
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}

export function register(program: Command, io: Io): void {
  program
    .command('run')
    .description('run parts of KubeNode against a cluster: sync, controllers, approver, defender, artifacts')
    .requiredOption('--roles <list>', 'roles, joined by commas')
    .option(
      '--kubeconfig <file>',
      'kubeconfig of the cluster; ROLE=FILE, once for each role, when there are several; in a pod its own account when left out',
      (file: string, before?: readonly string[]) => [...(before ?? []), file],
    )
    .option('--shared-identity', 'let several roles act as one user; who gets that kubeconfig gets all their powers')
    .option('--context <name>', 'context of the kubeconfig')
    .option('--cluster <name>', 'name of the cluster in the fleet; the name of the context when left out')
    .option(
      '--providers <file>',
      'YAML or JSON file with the infra providers of this cluster and their options; only static when left out (role controllers)',
    )
    .option('--host-server <url>', 'how hosts reach the API server; as this program does when left out')
    .option('--host-ca <file>', 'authority that hosts verify the API server by; that of this program when left out')
    .option('--artifact-base <url>', 'where agents find artifacts with relative URLs')
    .option(
      '--join-script <sha256>',
      'digest of the join.sh there, as kubenode agent bundle prints it; for hosts that join',
    )
    .option(
      '--artifact-ca <file>',
      'authorities, in PEM, that hosts trust for artifacts and no others; those of role artifacts when left out',
    )
    .option(
      '--artifacts-folder <dir>',
      'what role artifacts serves; with --artifacts-oci, where it keeps what it brings',
    )
    .option(
      '--artifacts-oci <reference>',
      'OCI artifact that role artifacts serves, by digest; each layer is the file of its title',
    )
    .option(
      '--artifacts-listen <address:port>',
      'where role artifacts serves it; a free port of 127.0.0.1 when left out',
    )
    .option(
      '--artifacts-host <names>',
      'names and addresses, joined by commas, by which hosts reach role artifacts; its certificate has them',
    )
    .option('--artifacts-cert <file>', 'certificate of role artifacts, in PEM; one of an own authority when left out')
    .option('--artifacts-key <file>', 'key of that certificate, in PEM')
    .option('--trust <file>', 'trust document that agents start from')
    .option('--hub', 'Clusters are targets of this defender too')
    .option('--webhook-host <host>', 'serve the webhook of the defender; the API server reaches it under this host')
    .option(
      '--webhook-service <name>',
      'serve the webhook of the defender on every replica; the API server reaches it through this Service, NAMESPACE/NAME, at its port 443',
    )
    .option('--webhook-listen <address>', 'address that the webhook listens on; 127.0.0.1 when left out')
    .addOption(new Option('--webhook-port <n>', 'port of the webhook; 0 takes a free one').default('0'))
    .option('--webhook-client-ca <file>', 'authority of the certificate that the API server sends to webhooks, if any')
    .option('--prometheus-url <url>', 'Prometheus for rollout inspections; disabled when left out')
    .option(
      '--inspection-allow <origins>',
      'origins, joined by commas, that inspections may query although they resolve to this host or a link-local address',
    )
    .option(
      '--call-allow <places>',
      'URL prefixes, joined by commas, that repair webhooks may call, such as https://hooks.example.org/repairs; none when left out',
    )
    .option(
      '--certificate-life <duration>',
      'how long certificates of agents are valid, from 1h to 365d; 7d when left out (role approver)',
    )
    .option('--cache <dir>', 'where sync keeps copies of repositories', '.kubenode/git')
    .option(
      '--local-repository <folder>',
      'folder of this host whose repositories FleetSources may name with file://; NAMESPACE/NAME=FOLDER allows it to one of them; repeatable; none when left out',
      (folder: string, before?: readonly string[]) => [...(before ?? []), folder],
    )
    .addOption(weakCageOption())
    .addOption(
      new Option(
        '--render <place>',
        'where sync runs code of the fleet: in Jobs of its cluster or in a process of its machine; in a pod job when left out, else process',
      ).choices(RENDER_PLACES),
    )
    .option('--render-image <reference>', 'image of the Jobs: the one that this program runs from, by digest')
    .addOption(
      new Option(
        '--metrics-port <n>',
        'port of /metrics, /healthz and /readyz on loopback; 0 takes a free one',
      ).default('0'),
    )
    .option(
      '--health-listen <address:port>',
      'address of the pod on which kubelet reads /healthz and /readyz; on loopback with --metrics-port when left out',
    )
    .option(
      '--metrics-listen <address:port>',
      'address of the pod on which /metrics is served over HTTPS, to those whom the API server lets get it',
    )
    .option('--metrics-insecure', 'serve /metrics at that address over plain HTTP, to everyone who reaches it')
    .option('--metrics-tls-cert <file>', 'certificate for /metrics; one shared in a Secret of the role when left out')
    .option('--metrics-tls-key <file>', 'its key')
    .option('--metrics-client-ca <file>', 'authority of client certificates that are accepted instead of tokens')
    .addOption(
      new Option('--log-level <level>', 'lowest level that is logged')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('info'),
    )
    .action(async (options: Options) => {
      const [
        { ROLE_NAMES, entryBeside, roleNamed },
        { runRole },
        { untilOneEnds },
        { clientOf, serverOf },
        { connectionFor, connectionsOf },
        { listenersOf, listeningOf },
        { pinoLogger },
        { untilEnded },
        { parsePlaces },
        { defaultProviders, readProvidersFile },
        { collectAtRest, thisEngine },
      ] = await Promise.all([
        import('../run/roles.ts'),
        import('../run/role.ts'),
        import('../run/until-one-ends.ts'),
        import('../run/connect.ts'),
        import('../run/role-connections.ts'),
        import('../run/listeners.ts'),
        import('#lib/log-pino.ts'),
        import('../until-ended.ts'),
        import('#runtime/outbound/places.ts'),
        import('#providers/providers-file.ts'),
        import('#lib/collect-at-rest.ts'),
      ])
      const names = options.roles.split(',').map((r) => {
        const known = ROLE_NAMES.find((n) => n === r.trim())
        if (known === undefined)
          throw new KubeNodeError(runErrors.KN1303({ r: JSON.stringify(r), roleNames: ROLE_NAMES.join(', ') }))
        return known
      })
      const listening = listeningOf(options, names)
      // Impossible options are reported before any request.
      const renderImage = names.includes('sync') ? renderImageOf({ ...options, env: io.env }) : undefined
      const artifacts = names.includes('artifacts') ? artifactsConfigOf(options) : undefined
      const artifactCaData = options.artifactCa === undefined ? undefined : authorityIn(options.artifactCa)
      const outbound = parsePlaces(listOf(options.callAllow))
      const { providers: providersFile } = options
      if (providersFile !== undefined) requireTrustedFolder(providersFile)
      const providers = providersFile === undefined ? defaultProviders() : readProvidersFile(providersFile)
      // A kubelet makes volumes writable for everyone, and gives them to pods that have no other users.
      const copies = names.includes('sync') && !isInPod(io.env) ? [options.cache] : []
      // Programs in them are run, and files believed.
      for (const path of [...providers.flatMap((p) => p.paths), ...copies]) requireTrustedFolder(path)
      const { kubeconfig: files = [], context, sharedIdentity: mayShare = false } = options
      const connections = await connectionsOf({ names, files, context, mayShare, env: io.env })
      for (const w of new Set([...connections.values()].flatMap((c) => c.warnings))) io.err(shownLine(w))
      const log = pinoLogger({ level: options.logLevel })
      if (!providers.some((p) => p.writesForOthers)) keepFilesPrivate()
      const shutdown = untilEnded()
      const engine = thisEngine()
      if (engine !== undefined) collectAtRest(systemClock, engine)
      // The name in an image is a link.
      const running = realpathSync(process.argv[1] ?? process.execPath)
      const config = {
        providers,
        artifactBase: options.artifactBase ?? '',
        ...joinScriptOf(options),
        ...(artifactCaData !== undefined && { artifactCaData }),
        ...(artifacts !== undefined && { artifacts }),
        ...(options.trust === undefined ? {} : { trust: options.trust }),
        ...webhookOf(options),
        inspections: inspectionsOf(options),
        outbound,
        ...lifeOf(options),
        isHub: names.includes('sync') || options.hub === true,
        cache: options.cache,
        weakCage: options.weakCage,
        ...(renderImage !== undefined && { renderImage }),
        gitEnv: { PATH: io.env['PATH'] ?? '', ...(io.env['HOME'] === undefined ? {} : { HOME: io.env['HOME'] }) },
        localRepositories: options.localRepository ?? [],
        node: process.execPath,
        entries: { agent: entryBeside(running, 'agent-main'), hollow: entryBeside(running, 'hollow-main') },
      }
      // Every container counts processes from one: the name of the pod tells two of them apart, and where the leader is.
      const identity = holderName(isInPod(io.env) ? hostname() : undefined, `${process.pid}-${Date.now().toString(36)}`)
      const ended = await untilOneEnds(names, shutdown.signal, async (name, signal) => {
        const connection = connectionFor(connections, name)
        const own = {
          ...config,
          ...serverForHosts(options, serverOf(connection)),
          cluster: clusterOf(options, connection),
        }
        return runRole(await roleNamed(name, own, identity), {
          client: clientOf(connection.config, `kubenode-${name}`),
          clientAs: (user) => clientOf({ ...connection.config, impersonate: { user } }, `kubenode-${name}`),
          leaseClient: clientOf(connection.config, `kubenode-${name}-lease`),
          log,
          cluster: own.cluster,
          listeners: (served) => listenersOf(listening, served, name),
          signal,
        })
      })
      const failed = ended.find((e) => e.error !== undefined)
      if (failed !== undefined) throw failed.error
      if (ended.some((e) => e.reason !== 'Stopped')) throw new Exit(EXIT_ERROR)
    })
}

function joinScriptOf({ joinScript }: Options): { readonly joinScript?: string } {
  if (joinScript === undefined) return {}
  if (!/^[0-9a-f]{64}$/.test(joinScript))
    throw new KubeNodeError(runErrors.KN1367({ value: JSON.stringify(joinScript) }))
  return { joinScript }
}

function lifeOf({ certificateLife: text }: Options): { readonly certificateSeconds?: number } {
  if (text === undefined) return {}
  const seconds = (durationMs(text) ?? Number.NaN) / 1_000
  if (!isLife(seconds)) throw new KubeNodeError(runErrors.KN1326({ text: JSON.stringify(text) }))
  return { certificateSeconds: seconds }
}

/** In a pod the API server has an address that hosts reach only once they are nodes. */
function serverForHosts({ hostServer, hostCa }: Options, own: { readonly server: string; readonly ca: string }) {
  if (hostServer !== undefined && URL.parse(hostServer)?.protocol !== 'https:')
    throw new KubeNodeError(runErrors.KN1318({ url: JSON.stringify(hostServer) }))
  const ca = hostCa === undefined ? own.ca : readText(hostCa, 'authority of the API server')
  return { server: hostServer ?? own.server, ca }
}

function clusterOf({ cluster }: Options, { context }: { readonly context: string }): string {
  const name = cluster ?? context
  if (name === '') throw new KubeNodeError(runErrors.KN1324())
  return name
}

const MAX_PORT = 65_535
const LOOPBACK = '127.0.0.1'

const SERVICE = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)\/([a-z]([a-z0-9-]{0,61}[a-z0-9])?)$/

function webhookOf(options: Options) {
  const { webhookHost: host, webhookService: service, webhookListen: listen = LOOPBACK, webhookPort } = options
  const port = Number(webhookPort)
  if (!/^\d+$/.test(webhookPort) || port > MAX_PORT)
    throw new KubeNodeError(runErrors.KN1305({ webhookPort: JSON.stringify(webhookPort), maxPort: MAX_PORT }))
  if (host === undefined && service === undefined) return {}
  const [, namespace = '', , name = ''] = SERVICE.exec(service ?? '') ?? []
  if (service !== undefined && (host !== undefined || name === ''))
    throw new KubeNodeError(runErrors.KN1316({ service: JSON.stringify(service) }))
  const at = service === undefined ? { host: host ?? '' } : { namespace, name }
  const { webhookClientCa } = options
  const clientCa = webhookClientCa === undefined ? undefined : readText(webhookClientCa, 'authority of webhook clients')
  return { webhook: { at, listen, port, ...(clientCa !== undefined && { clientCa }) } }
}

const listOf = (text = ''): readonly string[] =>
  text
    .split(',')
    .map((o) => o.trim())
    .filter((o) => o !== '')

/** An invalid URL would only be found in the middle of a rollout. */
function inspectionsOf({ prometheusUrl, inspectionAllow }: Options) {
  const allow = listOf(inspectionAllow)
  for (const url of [...allow, ...(prometheusUrl === undefined ? [] : [prometheusUrl])])
    if (!['http:', 'https:'].includes(URL.parse(url)?.protocol ?? ''))
      throw new KubeNodeError(runErrors.KN1379({ url: JSON.stringify(url) }))
  return { allow, ...(prometheusUrl !== undefined && { prometheus: prometheusUrl }) }
}
