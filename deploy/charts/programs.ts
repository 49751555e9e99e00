// What each program is started with in a pod: its arguments, its ports, and the files that it is given.
import { type HostedProgram, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { ControlPlanes } from './control-plane-settings.ts'
import { imageOf, workloadsOf, type ClusterRole, type InstallSettings, type Workload } from './settings.ts'

export const PORTS = {
  health: 8081,
  metrics: 8443,
  webhook: 9443,
  artifacts: 8444,
  hooks: 8445,
  provider: 8446,
  planesHealth: 8082,
  console: 8447,
} as const
export type PortName = keyof typeof PORTS

export const WEBHOOK_SERVICE = 'kubenode-webhook'
export const ARTIFACTS_SERVICE = 'kubenode-artifacts'
export const HOOKS_SERVICE = 'kubenode-hooks'
export const PLANES_SERVICE = 'kubenode-control-planes'
export const CONSOLE_SERVICE = 'kubenode-console'

/** One Secret with the files that settings hold, each mounted by itself: a folder of a volume is writable for all as far as its mode says. */
export const CONFIG_SECRET = 'kubenode-config'
export const CONFIG_FOLDER = '/etc/kubenode'
export const SECRETS_FOLDER = '/etc/kubenode/secrets'
export const PROVIDERS_FILE = 'providers.json'
export const TRUST_FILE = 'trust.json'
export const HOST_CA_FILE = 'api-server-ca.pem'
/** Authority of the server from which hosts of Clusters get artifacts. */
export const HOSTED_CA_FILE = 'hosted-artifacts-ca.pem'
/** What role `cluster` deploys into Clusters. */
export const IN_CLUSTERS_FOLDER = `${CONFIG_FOLDER}/in-clusters`
export const IN_CLUSTERS_FILE = 'objects.json'
const CONSOLE_FILE = 'console.json'
/** Whole Secrets, so that they follow a change. */
export const CONSOLE_FOLDERS = {
  tls: `${CONFIG_FOLDER}/console/tls`,
  client: `${CONFIG_FOLDER}/console/client`,
  clusters: `${CONFIG_FOLDER}/console/clusters`,
} as const

/** What happened. */
export const HISTORY_FOLDER = '/var/lib/kubenode/history'
export const HISTORY_CLUSTERS = `${CONFIG_FOLDER}/history/clusters`

/** Copies of repositories, for sync; what an artifacts program downloaded. */
export const CACHE_FOLDER = '/var/cache/kubenode'
/** A volume with artifacts. */
export const ARTIFACTS_FOLDER = '/var/lib/kubenode/artifacts'

/** What role cluster and the process that runs control planes share, and what the latter keeps. */
export const CONTROL_FOLDER = '/run/kubenode'
const CONTROL_SOCKET = `${CONTROL_FOLDER}/control.sock`
export const PLANES_VOLUME = '/var/lib/kubenode'
/** Where role cluster reads which versions of Kubernetes it runs. A whole volume, so that it follows a change. */
export const VERSIONS_FOLDER = `${CONFIG_FOLDER}/control-planes`
export const VERSIONS_FILE = 'versions.json'
/** Below the ports that systems take for connections of their own. */
export const FIRST_PLANE_PORT = 20_000

/** The kubelet puts the address of the pod in; in brackets it may be of either family. */
const POD_ADDRESS = '$(POD_IP)'
export const listen = (port: number): string => `[${POD_ADDRESS}]:${port}`
export const inConfig = (file: string): string => `${CONFIG_FOLDER}/${file}`
const given = (flag: string, value: string | undefined): readonly string[] => (value === undefined ? [] : [flag, value])
const joined = (flag: string, values: readonly string[]): readonly string[] =>
  values.length === 0 ? [] : [flag, values.join(',')]

/** The files of the config Secret that a program reads. */
export function configFilesOf(workload: Workload, settings: InstallSettings): ReadonlyMap<string, string> {
  const { trust, apiServer } = settings
  const json = (value: object | undefined) => (value === undefined ? undefined : `${JSON.stringify(value, null, 2)}\n`)
  const files: Readonly<Partial<Record<Workload, Readonly<Record<string, string | undefined>>>>> = {
    controllers: {
      [PROVIDERS_FILE]: json(controllersProviders(settings)),
      [TRUST_FILE]: json(trust),
      [HOST_CA_FILE]: apiServer?.ca,
      // A hub's own hosts get artifacts from its own servers.
      [HOSTED_CA_FILE]: settings.artifacts === undefined ? settings.clusterPrograms?.artifacts?.ca : undefined,
    },
    artifacts: { [TRUST_FILE]: json(trust), [HOST_CA_FILE]: apiServer?.ca },
    console: { [CONSOLE_FILE]: json(consoleFileOf(settings)) },
  }
  return new Map(
    Object.entries(files[workload] ?? {}).flatMap(([file, text]) => (text === undefined ? [] : [[file, text]])),
  )
}

function consoleFileOf({ console: page }: InstallSettings): object | undefined {
  if (page === undefined) return undefined
  const { names, tokens, oidc, proxy, clientSecret, clusters } = page
  const { tls, client, clusters: kubeconfigs } = CONSOLE_FOLDERS
  return {
    names,
    tokens,
    ...(oidc !== undefined && { oidc }),
    ...(proxy !== undefined && { proxy }),
    cert: `${tls}/tls.crt`,
    key: `${tls}/tls.key`,
    ...(clientSecret !== undefined && { clientSecret: `${client}/client-secret` }),
    ...(clusters !== undefined && { clusters: `${kubeconfigs}/kubeconfig` }),
  }
}

/** The providers file of the controllers: those in pods of their own are remote. */
function controllersProviders({ providers, providerPods }: InstallSettings): object | undefined {
  if (providerPods.length === 0) return providers
  const own: unknown = providers?.['providers']
  const remote = providerPods.map(({ name, orphans }) => ({
    name: 'remote',
    options: {
      name,
      url: `https://${providerHost(name)}:${PORTS.provider}/${name}`,
      ca: `${providerKeysFolder(name)}/ca.crt`,
      tokenFile: `${providerKeysFolder(name)}/token`,
    },
    ...(orphans !== undefined && { orphans }),
  }))
  return { ...providers, providers: [...(Array.isArray(own) ? (own as readonly unknown[]) : []), ...remote] }
}

/** Of a provider in a pod of its own: its Deployment, Service, account, Secret and network policy. */
export const providerPodName = (name: string): string => `kubenode-provider-${name}`
export const providerHost = (name: string): string => `${providerPodName(name)}.${SYSTEM_NAMESPACE}.svc`
export const providerKeysFolder = (name: string): string => `${CONFIG_FOLDER}/served/${name}`

const LEAST_REPOSITORY_MIB = 16

/** A pod whose emptyDir is full is evicted: the copy of one repository, and what a fetch adds to it, leave room for others. */
const maxRepositoryMib = ({ cacheMiB }: InstallSettings): number =>
  Math.max(LEAST_REPOSITORY_MIB, Math.floor(cacheMiB / 4))

const ofWorkload: Readonly<Record<Workload, (settings: InstallSettings) => readonly string[]>> = {
  sync: (s) => [
    '--cache',
    `${CACHE_FOLDER}/git`,
    '--max-repository',
    String(maxRepositoryMib(s)),
    '--render-image',
    imageOf(s),
    ...renderPlacementOf(s),
    ...(s.gitWebhooks.enabled ? ['--hooks-listen', listen(PORTS.hooks)] : []),
    ...callsOf(s),
  ],
  controllers: (s) => {
    const files = configFilesOf('controllers', s)
    const file = (flag: string, name: string) => (files.has(name) ? [flag, inConfig(name)] : [])
    return [
      ...file('--providers', PROVIDERS_FILE),
      // The programs of Clusters use them too.
      ...(s.clusterPrograms === undefined || !files.has(PROVIDERS_FILE) ? [] : ['--providers-shared']),
      ...file('--trust', TRUST_FILE),
      ...given('--host-server', s.apiServer?.url),
      ...file('--host-ca', HOST_CA_FILE),
      ...(s.artifacts === undefined
        ? artifactWords(clusterArtifactsOf(s))
        : ['--artifact-base', ownBaseOf(s.artifacts), ...given('--join-script', s.artifacts.joinScript)]),
      ...callsOf(s),
    ]
  },
  approver: (s) => [
    ...given('--certificate-life', s.certificateLife),
    ...(s.agents.identity === 'certificate' ? [] : ['--agent-identity', s.agents.identity]),
  ],
  defender: (s) => [
    ...(s.roles.includes('hub' satisfies ClusterRole) ? ['--hub'] : []),
    ...(s.webhook.enabled
      ? [
          '--webhook-service',
          `${SYSTEM_NAMESPACE}/${WEBHOOK_SERVICE}`,
          '--webhook-listen',
          POD_ADDRESS,
          '--webhook-port',
          String(PORTS.webhook),
        ]
      : []),
  ],
  cluster: (s) => {
    const { controlPlanes, clusterPrograms } = s
    return [
      ...(clusterPrograms === undefined
        ? []
        : ['--host-programs', '--programs-in-clusters', `${IN_CLUSTERS_FOLDER}/${IN_CLUSTERS_FILE}`]),
      ...(clusterArtifactsOf(s)?.authority === 'Own' ? ['--artifact-ca', inConfig(HOSTED_CA_FILE)] : []),
      ...(controlPlanes?.claim === undefined ? [] : ['--control-planes', CONTROL_SOCKET]),
      ...(controlPlanes?.kubernetes === undefined
        ? []
        : ['--control-plane-versions', `${VERSIONS_FOLDER}/${VERSIONS_FILE}`]),
    ]
  },
  artifacts: ({ artifacts }) => [
    '--artifacts-folder',
    artifacts?.source.oci === undefined ? ARTIFACTS_FOLDER : CACHE_FOLDER,
    ...given('--artifacts-oci', artifacts?.source.oci),
    '--artifacts-listen',
    listen(PORTS.artifacts),
    ...joined('--artifacts-host', artifacts === undefined ? [] : [artifacts.address]),
  ],
  history: ({ history }) => historyOptions(history),
  console: ({ history }) => [
    '--console-config',
    inConfig(CONSOLE_FILE),
    '--console-listen',
    listen(PORTS.console),
    ...(history?.console === true ? ['--history', HISTORY_FOLDER] : []),
  ],
}

const historyOptions = (history: InstallSettings['history']): readonly string[] => [
  '--history',
  HISTORY_FOLDER,
  ...(history === undefined ? [] : ['--history-days', String(history.days), '--history-size', String(history.maxGiB)]),
]

/** Each further cluster, with an identity of its own there. */
const historyClusters = ({ history }: InstallSettings): readonly string[] =>
  (history?.clusters?.names ?? []).flatMap((name) => [
    '--',
    '--roles',
    'history',
    '--kubeconfig',
    `${HISTORY_CLUSTERS}/kubeconfig`,
    '--context',
    name,
    '--cluster',
    name,
    ...historyOptions(history),
  ])

/** Of inspections, repairs and gates. */
const callsOf = (s: InstallSettings): readonly string[] => [
  ...given('--prometheus-url', s.prometheus),
  ...joined('--inspection-allow', s.inspectionAllow),
  ...joined('--call-allow', s.callAllow),
]

interface ClusterArtifacts {
  readonly base: string
  readonly joinScript: string | undefined
  /** `Own`: that of the hub's servers, which they make themselves. `Named`: in the settings. `Host`: whatever a host trusts. */
  readonly authority: 'Own' | 'Named' | 'Host'
}

const ownBaseOf = ({ address }: NonNullable<InstallSettings['artifacts']>): string => `https://${address}/`

/** Where hosts of Clusters, which have no artifact servers of their own, get artifacts: from those of the hub, unless the settings name others. */
export function clusterArtifactsOf(settings: InstallSettings): ClusterArtifacts | undefined {
  const { clusterPrograms, artifacts: servers } = settings
  if (clusterPrograms === undefined) return undefined
  const [named, own] = [clusterPrograms.artifacts, workloadsOf(settings).includes('artifacts') ? servers : undefined]
  const isOwn = own !== undefined && [undefined, ownBaseOf(own), `https://${own.address}`].includes(named?.base)
  if (isOwn && named?.ca === undefined)
    return { base: ownBaseOf(own), joinScript: named?.joinScript ?? own.joinScript, authority: 'Own' }
  return (
    named && { base: named.base, joinScript: named.joinScript, authority: named.ca === undefined ? 'Host' : 'Named' }
  )
}

const artifactWords = (from: ClusterArtifacts | undefined): readonly string[] =>
  from === undefined
    ? []
    : [
        '--artifact-base',
        from.base,
        ...(from.authority === 'Host' ? ['--artifact-trust', 'host'] : ['--artifact-ca', inConfig(HOSTED_CA_FILE)]),
        ...given('--join-script', from.joinScript),
      ]

/** Of Jobs that render, which run where the pods of the programs may. */
const renderPlacementOf = ({ nodeSelector, tolerations }: InstallSettings): readonly string[] =>
  Object.keys(nodeSelector).length + tolerations.length === 0
    ? []
    : ['--render-placement', JSON.stringify({ nodeSelector, tolerations })]

export const argsOf = (workload: Workload, settings: InstallSettings): readonly string[] => [
  'run',
  '--roles',
  workload,
  '--cluster',
  settings.cluster,
  '--health-listen',
  listen(PORTS.health),
  '--metrics-listen',
  listen(PORTS.metrics),
  ...(settings.metrics.insecure ? ['--metrics-insecure'] : []),
  '--log-level',
  settings.logLevel,
  ...ofWorkload[workload](settings),
  ...(workload === 'history' ? historyClusters(settings) : []),
]

/** The files of the config Secret that hosted programs read: as the program alone would, but for what each Cluster has of its own. */
export function hostedFilesOf(program: HostedProgram, settings: InstallSettings): ReadonlyMap<string, string> {
  if (program !== 'controllers' || settings.clusterPrograms === undefined) return new Map()
  const files = new Map([...configFilesOf('controllers', settings)].filter(([file]) => file !== HOST_CA_FILE))
  const { ca } = settings.clusterPrograms.artifacts ?? {}
  return ca === undefined ? files : files.set(HOSTED_CA_FILE, ca)
}

export function hostedArgsOf(program: HostedProgram, settings: InstallSettings): readonly string[] {
  const { perProcess, heapMiB } = settings.clusterPrograms ?? {}
  const files = hostedFilesOf(program, settings)
  const file = (flag: string, name: string) => (files.has(name) ? [flag, inConfig(name)] : [])
  const own: Readonly<Record<HostedProgram, () => readonly string[]>> = {
    controllers: () => [
      ...file('--providers', PROVIDERS_FILE),
      ...file('--trust', TRUST_FILE),
      ...artifactWords(clusterArtifactsOf(settings)),
      ...callsOf(settings),
    ],
    approver: () => ofWorkload.approver(settings),
    defender: () => [],
  }
  return [
    'run',
    '--roles',
    'hosted',
    '--hosted',
    program,
    '--cluster',
    settings.cluster,
    ...given('--hosted-per-process', perProcess?.toString()),
    ...given('--hosted-heap', heapMiB?.toString()),
    '--health-listen',
    listen(PORTS.health),
    '--metrics-listen',
    listen(PORTS.metrics),
    ...(settings.metrics.insecure ? ['--metrics-insecure'] : []),
    '--log-level',
    settings.logLevel,
    ...own[program](),
  ]
}

/** Of the process beside role cluster. */
export const planesArgs = ({ address, most, perProcess, tenantsApart }: ControlPlanes): readonly string[] => [
  'apiserver',
  '--no-server',
  '--control-planes',
  `${PLANES_VOLUME}/control-planes`,
  '--control-socket',
  CONTROL_SOCKET,
  '--host',
  POD_ADDRESS,
  '--port',
  String(FIRST_PLANE_PORT),
  '--most',
  String(most),
  '--planes-per-process',
  String(perProcess),
  ...(tenantsApart ? ['--tenants-apart'] : []),
  '--advertise',
  address ?? `${PLANES_SERVICE}.${SYSTEM_NAMESPACE}.svc`,
  '--health-listen',
  listen(PORTS.planesHealth),
]

export const portsOf = (workload: Workload, { webhook, gitWebhooks }: InstallSettings): readonly PortName[] => [
  'health',
  'metrics',
  ...(workload === 'defender' && webhook.enabled ? (['webhook'] as const) : []),
  ...(workload === 'artifacts' ? (['artifacts'] as const) : []),
  ...(workload === 'sync' && gitWebhooks.enabled ? (['hooks'] as const) : []),
  ...(workload === 'console' ? (['console'] as const) : []),
]
