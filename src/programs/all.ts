// Every program KubeNode runs. Processes are built from this file: a loop that is not listed here does not start, and a role gets only what is listed here.
// Each role is one identity: the user `kubenode:ROLE`, or the service account `kubenode-ROLE`, with the rights of deploy/install/2-rbac.yaml. A role that leads
// holds the Lease `kubenode-ROLE` in the system namespace and starts its loops once it has it; the other replicas wait. `kubenode run --roles` picks the roles
// of a process; an installation has one Deployment per role. Roles share state only through the API server.
import type { Parts } from '#agent/parts.ts'
import type { ControllerModule } from '#controllers/module.ts'
import type { Right } from '#runtime/rights.ts'
import type { RolesConfig } from './roles/config.ts'
import type { RoleSetup } from './run/role.ts'

type Loads = () => Promise<ControllerModule>

interface ControllerLoop {
  readonly does: string
  readonly load: Loads
}

/** Loops of the controllers role. Each one only reads and writes objects; none calls another. */
export const CONTROLLERS = {
  machine: {
    does: 'one machine: makes its host, joins it, gives it its components, hands it back',
    load: async () => (await import('#controllers/machine/reconcile.ts')).machineModule,
  },
  sshjoin: {
    does: 'hosts that are joined over SSH: reach, check, download, start',
    load: async () => (await import('#controllers/sshjoin/reconcile.ts')).sshJoinModule,
  },
  sshnodes: {
    does: 'machines without an agent: their components over SSH, in rounds',
    load: async () => (await import('#controllers/sshnodes/reconcile.ts')).sshNodesModule,
  },
  machineset: {
    does: 'a pool: how many machines there are, and of which template',
    load: async () => (await import('#controllers/machineset/reconcile.ts')).machineSetModule,
  },
  componentset: {
    does: 'versions of components on the machines of a set: batches 1, 5, 10, 50, 100 with inspection',
    load: async () => (await import('#controllers/componentset/reconcile.ts')).componentSetModule,
  },
  canary: {
    does: 'versions that some machines try before their set',
    load: async () => (await import('#controllers/canary/reconcile.ts')).canaryModule,
  },
  remedy: {
    does: 'rules over conditions of nodes: which repair a machine needs',
    load: async () => (await import('#controllers/remedy/reconcile.ts')).remedyModule,
  },
  remedyjob: {
    does: 'one repair: asks for its permit, then takes its steps',
    load: async () => (await import('#controllers/remedyjob/reconcile.ts')).remedyJobModule,
  },
  hostdoctor: {
    does: 'what providers announce about hosts: maintenance, and hosts that were deleted',
    load: async () => (await import('#controllers/hostdoctor/reconcile.ts')).hostDoctorModule,
  },
  nodelifecycle: {
    does: 'tells others in conditions of the Node that it is drained, maintained or repaired',
    load: async () => (await import('#controllers/nodelifecycle/reconcile.ts')).nodeLifecycleModule,
  },
  log: {
    does: 'logs that a person asked an agent for',
    load: async () => (await import('#controllers/log/reconcile.ts')).logModule,
  },
  state: {
    does: 'figures of the cluster for Prometheus',
    load: async () => (await import('#controllers/metrics/metrics.ts')).metricsModule,
  },
} as const satisfies Readonly<Record<string, ControllerLoop>>

const OURS = 'kubenode.io'
const ours = (verb: Right['verb'], resource: string): Right => ({ verb, group: OURS, resource })

interface RoleEntry {
  readonly does: string
  /** The hub, or every cluster that has machines. */
  readonly where: 'hub' | 'cluster' | 'both'
  /** One replica works while the others wait, or every replica does the full job. */
  readonly lead: 'one leader' | 'every replica'
  /** Its loops, by their names in logs, metrics and /healthz. */
  readonly loops: readonly string[]
  /** Services it uses besides the API servers. It waits for the ones its loops require and runs without the others. */
  readonly reaches: readonly string[]
  /** Options of `kubenode run` that turn parts of it on or off. */
  readonly switches: Readonly<Record<string, string>>
  /** A leader without one of these rights hands its Lease to a process that has them. */
  readonly needs: readonly Right[]
  /** `identity` is unique to this process and recorded where two processes must be distinguished. */
  readonly load: (config: RolesConfig, identity: string) => Promise<RoleSetup>
}

export const ROLE_NAMES = [
  'sync',
  'controllers',
  'approver',
  'defender',
  'cluster',
  'artifacts',
  'history',
  'console',
  'hosted',
] as const
export type RoleName = (typeof ROLE_NAMES)[number]

export const ROLES = {
  sync: {
    does: 'reads fleets from git, and applies them to the hub and, stage by stage, to clusters',
    where: 'hub',
    lead: 'one leader',
    loops: [
      'fleetsource',
      'release',
      'drift',
      'fleetsource-previews',
      'fleetsource-notify',
      'release-notify',
      'cluster-health',
      'fleet-brake',
      'local-repositories',
      'git-webhooks',
      'sync-connections',
      'release-figures',
    ],
    reaches: ['git servers', 'the API servers of Clusters', 'receivers of notifications', 'what gates ask'],
    switches: {
      '--hooks-listen': 'git-webhooks: git servers tell of pushes',
      '--local-repository': 'repositories of this machine',
      '--render': 'code of fleets runs in Jobs, or in a process beside this one',
      '--rehearse': 'everything happens on this machine, with short waits',
    },
    needs: [
      ours('patch', 'machinecomponentsets'),
      ours('create', 'releases'),
      ours('update', 'releases/status'),
      ours('update', 'fleetsources/status'),
      ours('patch', 'inventories'),
      ours('create', 'fleetbrakes'),
    ],
    load: async (config) => (await import('./roles/sync.ts')).syncRole(config),
  },
  controllers: {
    does: 'makes machines and keeps what is on them, and repairs them',
    where: 'cluster',
    lead: 'one leader',
    loops: Object.keys(CONTROLLERS),
    reaches: ['providers of hosts', 'what inspections of rollouts ask', 'webhooks of repairs'],
    switches: {
      '--providers': 'which providers it makes hosts with; static alone without it',
      '--prometheus-url': 'inspections that query Prometheus',
      '--call-allow': 'repairs that call webhooks',
      '--artifact-ca': 'artifact-authority is left out: hosts get this authority',
    },
    needs: [
      ours('patch', 'machines'),
      ours('patch', 'machines/status'),
      ours('update', 'machinecomponentsets/status'),
      ours('create', 'operationpermits'),
      ours('update', 'operationpermits'),
      ours('create', 'remedyoperationjobs'),
      { verb: 'update', group: '', resource: 'nodes' },
    ],
    load: async (config) => {
      const modules = await Promise.all(Object.values(CONTROLLERS).map(({ load }) => load()))
      return (await import('./roles/controllers.ts')).controllersRole(config, { modules, roles: ROLE_NAMES })
    },
  },
  approver: {
    does: 'decides who may act as an agent: join tokens, certificates, revoked agents',
    where: 'cluster',
    lead: 'one leader',
    loops: ['machine-csr', 'join-token', 'agent-accounts', 'revoked-agents'],
    reaches: [],
    switches: { '--agent-identity': 'agents become service accounts where the cluster signs no certificates for them' },
    needs: [
      ours('patch', 'machines'),
      { verb: 'update', group: 'certificates.k8s.io', resource: 'certificatesigningrequests/approval' },
      { verb: 'create', group: '', resource: 'secrets', namespace: 'kube-system' },
    ],
    load: async (config) => (await import('./roles/approver.ts')).approverRole(config),
  },
  defender: {
    does: 'grants permits for disruptions, under the policies and the limits of one ledger',
    where: 'both',
    lead: 'one leader',
    loops: ['defender', 'ended-holds', 'webhook', 'webhook-server', 'policies'],
    reaches: [],
    switches: {
      '--webhook-host': 'webhook-server, at this address: disruptions without a permit are refused',
      '--webhook-service': 'webhook-server, behind this Service',
      '--hub': 'Clusters are targets too',
    },
    needs: [
      ours('create', 'defenderledgers'),
      ours('update', 'defenderledgers'),
      ours('update', 'operationpermits/status'),
    ],
    load: async (config, identity) => (await import('./roles/defender.ts')).defenderRole(config, identity),
  },
  cluster: {
    does: 'makes, upgrades, restores and removes the control planes of Clusters',
    where: 'hub',
    lead: 'one leader',
    loops: ['cluster', 'cluster-figures'],
    reaches: ['the host of embedded control planes', 'the API servers of Clusters'],
    switches: {
      '--control-planes': 'embedded control planes, of kubenode apiserver behind this socket',
      '--control-plane-versions': 'control planes of Kubernetes, as workloads of the hub',
      '--host-programs': 'kubeconfigs for the programs that the role hosted runs',
      '--programs-in-clusters': 'programs in Clusters that want them there',
    },
    needs: [
      ours('update', 'clusters'),
      ours('update', 'clusters/status'),
      ours('delete', 'clusters'),
      ours('create', 'operationpermits'),
      { verb: 'create', group: '', resource: 'secrets', namespace: 'kubenode-clusters' },
    ],
    load: async (config) => (await import('./roles/cluster.ts')).clusterRole(config),
  },
  artifacts: {
    does: 'serves components and the agent itself to hosts',
    where: 'both',
    lead: 'every replica',
    loops: ['artifact-server'],
    reaches: ['a registry'],
    switches: {
      '--artifacts-folder': 'serves this folder',
      '--artifacts-oci': 'fetches what it serves from a registry first',
    },
    // Its certificate may be given as files.
    needs: [],
    load: async (config) => (await import('./roles/artifacts.ts')).artifactsRole(config),
  },
  history: {
    does: 'writes down what happens in a cluster: conditions, repairs, permits, releases, and who did what',
    where: 'both',
    lead: 'one leader',
    loops: ['recorder'],
    reaches: ['a disk'],
    switches: {
      '--history': 'where it writes; needed',
      '--history-days': 'older days are summed up and dropped',
      '--history-size': 'the oldest days are dropped beyond this size',
    },
    // It writes nothing.
    needs: [],
    load: async (config) => (await import('./roles/history.ts')).historyRole(config),
  },
  console: {
    does: 'the page for people who sign in; it writes as the person who asked, never as itself',
    where: 'both',
    lead: 'every replica',
    loops: ['console'],
    reaches: ['the issuer of identities', 'git servers'],
    switches: {
      '--console-config': 'how people sign in',
      '--history': 'the past from what was recorded here',
    },
    needs: [],
    load: async (config) => (await import('./roles/console.ts')).consoleRole(config),
  },
  hosted: {
    does: 'runs controllers, approver or defender of the Clusters of the hub, its share of them',
    where: 'hub',
    lead: 'every replica',
    loops: ['hosted-programs'],
    reaches: [],
    switches: {
      '--hosted': 'which of the three programs',
      '--hosted-per-process': 'how many Clusters of one namespace share a process',
      '--hosted-heap': 'the heap of each process',
    },
    // Without them no Cluster gets its program, which the Cluster says.
    needs: [],
    load: async (config) => (await import('./roles/hosted.ts')).hostedRole(config),
  },
} as const satisfies Readonly<Record<RoleName, RoleEntry>>

/** The parts of an agent; `#agent/parts.ts` builds them. */
type AgentPart = Exclude<
  keyof Parts,
  'files' | 'dir' | 'config' | 'facts' | 'machine' | 'target' | 'registersNode' | 'reportLeft'
>

export const AGENT_PARTS = {
  supervisor: 'starts and stops processes, in units of systemd or below the agent',
  components: 'one worker for each component: stage, switch, probe, commit or go back',
  drift: 'files and processes that are not as the component declares',
  board: 'the conditions of the node, one entry for each, from all that report it',
  detection: 'monitors: of the kernel log, journal, /proc, and programs of others',
  jobs: 'steps of repairs under a permit',
  logs: 'logs that a person asked for',
  notices: 'what the metadata service of a cloud announces',
  acceptance: 'what a new Node must pass before it takes pods',
  frozen: 'the file by which a person stops everything on this node',
  reboots: 'the one request for a reboot, of repairs and components',
  kubelet: 'whether the kubelet of the host trusts the cluster that the agent has joined',
  metrics: 'figures on loopback, where the configuration asks for them',
  machineWriter: 'the status of the Machine',
  nodeWriter: 'the conditions and the Lease of the Node',
} as const satisfies Readonly<Record<AgentPart, string>>

interface ProgramEntry<Module> {
  readonly does: string
  readonly command: string
  /** The identity it uses with the API server. */
  readonly identity: string
  readonly load: () => Promise<Module>
}

const program = <Module>(entry: ProgramEntry<Module>): ProgramEntry<Module> => entry

/** Every process of KubeNode other than `kubenode run`, which uses ROLES. Commands start the modules loaded here. */
export const PROGRAMS = {
  agent: program({
    does: 'AGENT_PARTS, on each node; its bundle is this program alone',
    command: 'kubenode agent run',
    identity: 'the user kubenode:agent:MACHINE, by a certificate that the approver grants',
    load: () => import('./agent-program.ts'),
  }),
  apiserver: program({
    does: 'the embedded API server, with control planes that the role cluster asks for',
    command: 'kubenode apiserver',
    identity: 'none: it is the server',
    load: () => import('./run-server.ts'),
  }),
  planes: program({
    does: 'control planes of clusters, in a process beside the API server that asked for it',
    command: 'kubenode apiserver --plane-process',
    identity: 'none: each plane is a server',
    load: () => import('./plane-process.ts'),
  }),
  provider: program({
    does: 'providers of hosts, for the role controllers of another process',
    command: 'kubenode provider serve',
    identity: 'none: its callers show a certificate or a token',
    load: () => import('./serve-provider.ts'),
  }),
  console: program({
    does: 'the role console for the person who started it',
    command: 'kubenode console',
    identity: 'that of the person',
    load: () => import('./run/own-console.ts'),
  }),
  local: program({
    does: 'a hub and clusters of all of these on one machine',
    command: 'kubenode local up',
    identity: 'one for each of its programs',
    load: () => import('./local/start-fleet.ts'),
  }),
} as const
