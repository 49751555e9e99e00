// Every role that `kubenode run` knows, and how it is assembled.
import type { Rehearsal } from '#sync/rehearsal/rehearsed.ts'
import type { Placement } from '#sync/render/job/job-spec.ts'
import { join, parse } from 'node:path'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import type { AgentIdentity } from '#identity/token-life.ts'
import type { JoinBundle } from '#api/join-bundle.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { anchorOf, judgeTrust, parseSignedTrust } from '#api/trust/trust-document.ts'
import { readBoundedText } from '#lib/bounded-file.ts'
import { KubeNodeError, assertNever } from '#lib/errors.ts'
import type { WebhookOptions } from '#defender/webhook/replica.ts'
import type { Provider } from '#providers/port.ts'
import type { ServedProvider } from '#providers/providers-file.ts'
import type { Part } from '#runtime/manager.ts'
import { partsOf } from '#runtime/module.ts'
import { hostOf } from '#runtime/outbound/checked-lookup.ts'
import type { OutboundPlaces } from '#runtime/outbound/places.ts'
import { providersText } from '#runtime/served-providers.ts'
import { compileCache } from '#lib/compile-cache.ts'
import { clientOf } from './connect.ts'
import type { ServedConsole } from './console-file.ts'
import type { ServedArtifacts } from './artifacts-options.ts'
import { NEEDS } from './needs.ts'
import { PinnedAuthority } from './pinned-authority.ts'
import type { Addons } from '#controlplanes/addons.ts'
import type { Role } from './role.ts'
import { runErrors } from './run-errors.ts'
import { VERSION } from '#lib/program-version.ts'

export const ROLE_NAMES = ['sync', 'controllers', 'approver', 'defender', 'cluster', 'artifacts', 'console'] as const
export type RoleName = (typeof ROLE_NAMES)[number]

export interface RolesConfig {
  readonly cluster: string
  /** How hosts reach this cluster's API server. */
  readonly server: string
  /** Read for each host: a rotation replaces it while this program runs. */
  readonly ca: () => string
  /** Providers whose hosts Machines may have. */
  readonly providers: readonly ServedProvider[]
  readonly artifactBase: string
  /** PEM in base64: whom hosts trust there; that of our own artifact servers when left out. */
  readonly artifactCaData?: string
  /** SHA-256 of the join.sh that hosts are given. */
  readonly joinScript?: string
  /** Socket of the host of control planes, for role cluster. */
  readonly controlPlanes?: string
  /** File with the versions of Kubernetes that this hub runs control planes of. */
  readonly controlPlaneVersions?: string
  /** What role artifacts serves. */
  readonly artifacts?: ServedArtifacts
  /** What role console serves, and how this program reaches the cluster. */
  readonly console?: ServedConsole
  readonly connection: ConnectionConfig
  /** The trust document that hosts start with; they get its keys and the document itself. */
  readonly trust?: string
  /** Clusters are targets too. */
  readonly isHub: boolean
  /** Where the API server reaches the defender's webhook, and where it listens; none is served without. */
  readonly webhook?: WebhookOptions
  /** Allowed targets of rollout inspections, and of gates. */
  readonly inspections?: { readonly prometheus?: string; readonly allow: readonly string[] }
  /** Allowed targets of repair webhooks, and of tokens of gates; none without it. */
  readonly outbound?: OutboundPlaces
  /** Lifetime of agents' certificates; a week without it. */
  readonly certificateSeconds?: number
  /** What agents become that join from now on; a certificate without it. */
  readonly agentIdentity?: AgentIdentity
  /** Where sync keeps copies of repositories. */
  readonly cache: string
  readonly maxRepositoryBytes: number
  readonly hooks?: { readonly host: string; readonly port: number }
  readonly weakCage: 'allow' | 'refuse'
  /** Sync renders in Jobs of this image; in a process without it. */
  readonly renderImage?: string
  readonly renderPlacement?: Placement
  readonly gitEnv: Readonly<Record<string, string>>
  /** `FOLDER` or `NAMESPACE/NAME=FOLDER`: repositories of this machine that sources may use. */
  readonly localRepositories: readonly string[]
  readonly rehearsal?: Rehearsal
  /** Git servers that sources may name wherever they lead. */
  readonly gitHosts: readonly string[]
  /** The Node.js program, and the programs of KubeNode that hosts run. */
  readonly node: string
  readonly entries: Readonly<Record<'agent' | 'hollow', string>>
}

/** The trust that hosts start with; a document that does not verify with its own keys would fail on every node. */
function trustOf(path: string | undefined): JoinBundle['trust'] {
  if (path === undefined) return { sequence: 0, threshold: 1, keys: [] }
  const document = parseSignedTrust(JSON.parse(readBoundedText(path)))
  const anchor = document && { ...anchorOf(document.document), sequence: 0 }
  if (document === undefined || anchor === undefined || judgeTrust(anchor, document, Date.now()).kind === 'Refused') {
    throw new KubeNodeError(runErrors.KN1304({ path }))
  }
  return { anchor, document }
}

interface Hosts {
  readonly provider: Provider
  readonly part: Part
}

/** Providers run as the role that creates them. */
function hosts(provider: Provider): Hosts {
  const stop = new AbortController()
  let running: Promise<void> = Promise.resolve()
  const part: Part = {
    name: `${provider.name}-provider`,
    start: () => void (running = provider.run?.(stop.signal) ?? Promise.resolve()),
    stop: async () => {
      stop.abort()
      await running
    },
  }
  return { provider, part }
}

const controllersRole = (config: RolesConfig): Role => ({
  name: 'controllers',
  needs: NEEDS.controllers,
  leaseAnnotations: { [ANNOTATIONS.providers]: providersText(config.providers.map((p) => p.name)) },
  async setup(context) {
    const { CONTROLLERS } = await import('#controllers/controllers.ts')
    const { DeclaredAgentConfig } = await import('#declared/followed-agent-config.ts')
    const { userData } = await import('#agent/join/user-data.ts')
    const { InstalledShells, shellsOf } = await import('./installed-shells.ts')
    const { labelled } = await import('#install/release.ts')
    const shells = shellsOf(ROLE_NAMES).map((shell) => ({ ...shell, ...labelled(shell, VERSION), kind: shell.kind }))
    const declared = new DeclaredAgentConfig({ ...context, events: context.events('agents') })
    const { node, entries } = config
    const cache = compileCache()
    const tools = {
      clock: context.clock,
      log: context.log,
      agentConfig: async () => declared.text(),
      node,
      entries,
      ...(cache !== undefined && { compileCache: cache }),
      env: process.env,
      userData,
    }
    const all = (await Promise.all(config.providers.map((p) => p.create(tools)))).map(hosts)
    const { informers, clock, random, log, metrics, supervision } = context
    // Role artifacts serves HTTPS alone.
    const isPinned = config.artifactCaData === undefined && config.artifactBase.startsWith('https:')
    const pinned = isPinned ? new PinnedAuthority(context) : undefined
    // An invalid document stops the start; later ones are read as machines join.
    trustOf(config.trust)
    const running = CONTROLLERS.map((module) =>
      module.setup({
        client: context.client,
        informers,
        clock,
        random,
        log,
        metrics,
        events: context.events(module.name),
        config: {
          cluster: config.cluster,
          inspections: { ...config.inspections, apiServers: apiServersOf(config) },
          ...(config.outbound === undefined ? {} : { outbound: config.outbound }),
          providers: Object.fromEntries(all.map(({ provider }) => [provider.name, provider])),
          orphans: Object.fromEntries(config.providers.map((p) => [p.name, p.orphans])),
          join: {
            server: config.server,
            get caData() {
              return Buffer.from(config.ca()).toString('base64')
            },
            artifactBase: config.artifactBase,
            ...(config.joinScript !== undefined && { joinScript: config.joinScript }),
            get artifactCaData() {
              return config.artifactCaData ?? pinned?.value
            },
            get trust() {
              return trustOf(config.trust)
            },
            get waitsFor() {
              return pinned !== undefined && pinned.value === undefined ? NO_AUTHORITY : undefined
            },
          },
        },
      }),
    )
    return [
      ...(pinned === undefined ? [] : [pinned]),
      new InstalledShells({ client: context.client, clock, log, shells }),
      ...all.map(({ part }) => part),
      ...running.flatMap((m) => partsOf(m, supervision)),
    ]
  },
})

/** A host that joined without it could never fetch anything. */
const NO_AUTHORITY = 'the artifact servers have not made their authority yet'

/** Its identity is worth that of every host: it shares its process with other roles only if a user permits it. */
const approverRole = ({ certificateSeconds: lifeSeconds, agentIdentity: identity }: RolesConfig): Role => ({
  name: 'approver',
  needs: NEEDS.approver,
  async setup(context) {
    const { approverModule } = await import('#controllers/approver/reconcile.ts')
    const running = approverModule.setup({
      ...context,
      events: context.events(approverModule.name),
      ...(lifeSeconds !== undefined && { lifeSeconds }),
      ...(identity !== undefined && { identity }),
    })
    return partsOf(running, context.supervision)
  },
})

async function defenderRole({ cluster, isHub, webhook }: RolesConfig, identity: string): Promise<Role> {
  const [{ defenderModule }, { releaseManifests }, { policiesIn }, { labelled }] = await Promise.all([
    import('#defender/role.ts'),
    import('#delivery/release-manifests.ts'),
    import('#kube/admission-policies.ts'),
    import('#install/release.ts'),
  ])
  const policies = policiesIn(releaseManifests().rest).map((o) => labelled(o, VERSION))
  const role = defenderModule({
    cluster,
    identity,
    withClusters: isHub,
    policies,
    ...(webhook !== undefined && { webhook }),
  })
  return {
    name: 'defender',
    needs: NEEDS.defender,
    ...(role.standing !== undefined && { standing: role.standing }),
    setup: async (context) => partsOf(await role.setup(context), context.supervision),
  }
}

/** On every replica: a Service leads to any of them. */
const hooksOf =
  (at: NonNullable<RolesConfig['hooks']>): NonNullable<Role['standing']> =>
  async ({ client, informers, clock, log }) => {
    const [{ HooksServer }, { fleetSource }] = await Promise.all([
      import('#sync/hooks/server.ts'),
      import('#api/kinds/fleet-source.ts'),
    ])
    const server = new HooksServer({ ...at, client, sources: informers.of(fleetSource), clock, log })
    return { parts: [server], problem: () => undefined }
  }

const syncRole = (config: RolesConfig): Role => ({
  name: 'sync',
  needs: NEEDS.sync,
  ...(config.hooks !== undefined && { standing: hooksOf(config.hooks) }),
  async setup(context) {
    const [{ syncModule }, { parseLocalRepositories }] = await Promise.all([
      import('#sync/role.ts'),
      import('#sync/git/access.ts'),
    ])
    const { client, informers, clock, random, log, metrics, supervision } = context
    const running = syncModule.setup({
      client,
      informers,
      clock,
      random,
      log,
      metrics,
      events: context.events('sync'),
      connect: (connection) => clientOf(connection, 'kubenode-sync'),
      hubAs: context.clientAs,
      config: {
        cacheDir: config.cache,
        weakCage: config.weakCage,
        version: VERSION,
        ...(config.renderImage !== undefined && {
          jobs: {
            image: config.renderImage,
            version: VERSION,
            ...(config.renderPlacement !== undefined && { placement: config.renderPlacement }),
          },
        }),
        gitEnv: config.gitEnv,
        gitReach: { trusted: config.gitHosts, apiServers: apiServersOf(config) },
        maxRepositoryBytes: config.maxRepositoryBytes,
        localRepositories: config.localRepositories.map(parseLocalRepositories),
        ...(config.rehearsal !== undefined && { rehearsal: config.rehearsal }),
        looks: { ...config.inspections, apiServers: apiServersOf(config) },
        ...(config.outbound !== undefined && { outbound: config.outbound }),
      },
    })
    return partsOf(running, supervision)
  },
})

/** Under both names: as this program reaches it, and as hosts do. Objects of the cluster never have a program call them. */
const apiServersOf = ({ server, connection }: RolesConfig): readonly string[] =>
  [server, connection.server].flatMap((text) => {
    const url = URL.parse(text)
    return url === null ? [] : [hostOf(url).toLowerCase()]
  })

/** What `kubenode install` brings too, but the programs. */
async function releaseAddons(): Promise<Addons> {
  const [{ addonsOf }, { releaseManifests }] = await Promise.all([
    import('#controlplanes/addons.ts'),
    import('#delivery/release-manifests.ts'),
  ])
  const { kinds, rest } = releaseManifests()
  return addonsOf(VERSION, kinds, rest)
}

/** On a hub: control planes of Clusters. */
const clusterRole = (config: RolesConfig): Role => ({
  name: 'cluster',
  needs: NEEDS.cluster,
  async setup(context) {
    const { clusterModule } = await import('#controllers/cluster/reconcile.ts')
    const { hostsOf } = await import('#controlplanes/embedded/hosts.ts')
    const connect = (connection: ConnectionConfig) => clientOf(connection, 'kubenode-cluster')
    const [first, ...others] = await hostsOf(config, { ...context, connect })
    if (first === undefined) throw new KubeNodeError(runErrors.KN1396())
    let known: Promise<Addons> | undefined
    const running = clusterModule.setup({
      ...context,
      events: context.events('cluster'),
      hosts: [first, ...others],
      connect,
      addons: () => (known ??= releaseAddons()),
    })
    return partsOf(running, context.supervision)
  },
})

/** From the registry, with the login that a mounted file has, into a folder of the cache. */
async function pulled(
  { reference, digest }: NonNullable<ServedArtifacts['oci']>,
  cache: string,
  env: RolesConfig['gitEnv'],
): Promise<string> {
  const [{ registryFor }, { pulledArtifacts }] = await Promise.all([
    import('#artifacts/oci/registry-for.ts'),
    import('#artifacts/pull.ts'),
  ])
  return pulledArtifacts(registryFor(reference, { env }).store, digest, cache)
}

const artifactsRole = ({ artifacts, gitEnv }: RolesConfig): Role => ({
  name: 'artifacts',
  isEverywhere: true,
  async setup({ client, clock, log }) {
    const { ArtifactsPart } = await import('#artifacts/role.ts')
    if (artifacts === undefined) throw new Error('role artifacts has no options')
    const { oci, folder: given, ...rest } = artifacts
    const folder = oci === undefined ? given : await pulled(oci, given, gitEnv)
    return [new ArtifactsPart({ ...rest, folder, client, clock, log })]
  },
})

/** Without a leader: each replica has people and sessions of its own. */
const consoleRole = ({ cluster, connection, console: served }: RolesConfig): Role => ({
  name: 'console',
  isEverywhere: true,
  async setup(context) {
    const { ConsolePart } = await import('./console-role.ts')
    if (served === undefined) throw new KubeNodeError(runErrors.KN1357())
    return [new ConsolePart({ ...served, cluster, connection, context })]
  },
})

/** `identity` is unique to this process; it is recorded where two of them must be distinguished. */
export async function roleNamed(name: RoleName, config: RolesConfig, identity: string): Promise<Role> {
  switch (name) {
    case 'controllers':
      return controllersRole(config)
    case 'approver':
      return approverRole(config)
    case 'defender':
      return defenderRole(config, identity)
    case 'sync':
      return syncRole(config)
    case 'cluster':
      return clusterRole(config)
    case 'artifacts':
      return artifactsRole(config)
    case 'console':
      return consoleRole(config)
    default:
      return assertNever(name)
  }
}

/** Next to the running one: built files next to a built one. */
export function entryBeside(running: string, name: 'agent-main' | 'hollow-main'): string {
  const { dir, ext } = parse(running)
  return join(dir, `${name}${ext}`)
}
