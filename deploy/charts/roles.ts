// What each of us may do, and nothing more: one table. Names of verbs and resources are those of the requests that the code makes.
import { AGENT_CONFIG_NAME } from '#api/agent-config/agent-config-map.ts'
import {
  ABANDONED_HOSTS,
  ACCEPTANCE_NAMESPACE,
  AGENT_ACCOUNTS_GROUP,
  AGENT_SIGNER,
  AGENT_VERB,
  AGENTS_GROUP,
  AGENTS_NAMESPACE,
  ARTIFACTS_SECRET,
  BOOTSTRAP_GROUP,
  CLUSTERS_NAMESPACE,
  CONTROL_PLANE_ROLE,
  DECLARE_VERB,
  DOOR_USER,
  HOSTED_PROGRAMS,
  hostedAccount,
  hostedNamespace,
  hostedWorkload,
  type HostedProgram,
  JOIN_ACCOUNTS_GROUP,
  JOIN_NAMESPACE,
  LOGS_READER,
  METRICS_ACCESS,
  METRICS_READER,
  metricsSecretName,
  PREVIEW_USER,
  PREVIEWS_NAMESPACE,
  PROBES_NAMESPACE,
  programLeaseName,
  programUser,
  RENDER_NAMESPACE,
  ORPHAN_HOSTS,
  SERVICE_LEVELS,
  REVOKED_AGENTS,
  SYSTEM_NAMESPACE,
  TOKEN_SIGNER,
  WEBHOOK_NAMESPACE,
  WEBHOOK_SECRET,
} from '#api/names.ts'
import { API_GROUP } from '#api/kind.ts'
import { KINDS } from '#api/kinds.ts'
import { SHAPES } from '#history/facts/shapes.ts'
import { ARTIFACTS_ACCOUNT, CONSOLE_ACCOUNT, METERED, PROGRAMS, type Program, accountOf, userOf } from './system.ts'

export interface PolicyRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

export type Subject =
  | { readonly kind: 'User' | 'Group'; readonly name: string }
  | { readonly kind: 'ServiceAccount'; readonly name: string }

export interface RoleEntry {
  readonly name: string
  /** Absent: for the whole cluster. */
  readonly namespace?: string
  /** None: people bind it to whom they choose. */
  readonly subjects: readonly Subject[]
  readonly rules: readonly PolicyRule[]
  /** What it may get that is no resource, for the whole cluster only. */
  readonly paths?: readonly string[]
  /** Only where FleetSources and Releases live; a hub that is a member too has both. */
  readonly onHub?: boolean
}

const LOOK = ['get', 'list', 'watch'] as const
/** Server-side apply and patches are `patch`; making by apply is `create` too. */
const WRITE = ['create', 'update', 'patch'] as const
/** For those who write what git declares: nothing of it is watched. */
const READ = ['get', 'list'] as const

const on =
  (group: string) =>
  (resources: readonly string[], verbs: readonly string[], resourceNames?: readonly string[]): PolicyRule => ({
    apiGroups: [group],
    resources,
    verbs,
    ...(resourceNames !== undefined && { resourceNames }),
  })
const ours = on(API_GROUP)
const core = on('')
const apps = on('apps')
const leases = on('coordination.k8s.io')
const certificates = on('certificates.k8s.io')
const rbac = on('rbac.authorization.k8s.io')
const events = on('events.k8s.io')(['events'], ['create', 'patch'])

const NODE_LEASES = 'kube-node-lease'
const KUBE_SYSTEM = 'kube-system'

/** Kinds that git declares; the others are made by programs. */
const MADE_BY_PROGRAMS: ReadonlySet<string> = new Set([
  'ComponentConfig',
  'RemedyOperationJob',
  'OperationPermit',
  'DefenderLedger',
  'FleetBrake',
  'Approval',
  'Release',
  'MaintenanceEvent',
  // Made by people, each for the log of one component.
  'LogRequest',
  // Made by people: one that lifts the deletion guard must not come from a commit, nor from the key of a program.
  'OperationalHold',
])
const DECLARED = KINDS.filter((k) => !MADE_BY_PROGRAMS.has(k.kind))
/** Kinds of the hub alone are namespaced. */
const pluralsOf = (isOfHub: boolean): readonly string[] =>
  DECLARED.filter((k) => k.namespaced === isOfHub).map((k) => k.plural)

const programs = (program: Program): readonly Subject[] => [
  { kind: 'User', name: userOf(program) },
  { kind: 'ServiceAccount', name: accountOf(program) },
]

/** Each program elects its leader on one Lease of its own. */
const election = (program: Program): RoleEntry => ({
  name: program === 'sync' ? 'kubenode:sync-hub' : `kubenode:${program}`,
  ...((program === 'sync' || program === 'cluster') && { onHub: true }),
  namespace: SYSTEM_NAMESPACE,
  subjects: programs(program),
  rules: [
    leases(['leases'], ['create']),
    leases(['leases'], ['get', 'update'], [`kubenode-${program}`]),
    ...INSIDE[program],
  ],
})

/** What else a program does in our own namespace. */
const INSIDE: Readonly<Record<Program, readonly PolicyRule[]>> = {
  sync: [],
  controllers: [
    // Heartbeats of machines without an agent. The Leases of programs are their own, by policy.
    leases(['leases'], [...LOOK, 'patch', 'delete']),
    apps(['controllerrevisions'], [...LOOK, 'create', 'update', 'delete']),
    // Never listed nor watched: only what an object names is read. The key of the hashes is made once.
    core(['secrets'], ['get', 'create']),
    // Secret values that are sealed for one machine each.
    core(['configmaps'], ['list', 'watch', 'create', 'patch', 'delete']),
    core(['configmaps'], ['get'], [ABANDONED_HOSTS, ORPHAN_HOSTS]),
    // The node-seconds of a month, which it continues.
    core(['configmaps'], ['get'], [SERVICE_LEVELS]),
  ],
  // The list of revoked agents, which the installer made.
  approver: [core(['configmaps'], ['get', 'update'], [REVOKED_AGENTS])],
  cluster: [],
  history: [],
  defender: [
    leases(['leases'], ['get']),
    // For rules of policies about what is left of a pool's budget.
    core(['configmaps'], ['get'], [SERVICE_LEVELS]),
    // Which versions were healthy on a set.
    apps(['controllerrevisions'], ['list']),
    // Machines that run our own programs are disrupted one at a time.
    core(['pods'], ['list', 'watch']),
  ],
}

/** On every cluster that a fleet declares objects for. */
const sync: RoleEntry = {
  name: 'kubenode:sync',
  subjects: programs('sync'),
  rules: [
    ours(pluralsOf(false), [...READ, ...WRITE, 'delete']),
    ours(['operationalholds'], ['list', 'watch']),
    ours(['remedyoperationjobs'], ['list']),
    // The brake over all clusters: its own on the hub, and a copy in each cluster.
    ours(['fleetbrakes'], ['get', ...WRITE]),
    // What a fleet may declare beside our kinds. Roles are not included: no commit can grant rights.
    core(['namespaces', 'configmaps', 'services', 'serviceaccounts'], [...READ, ...WRITE, 'delete']),
    apps(['deployments', 'statefulsets', 'daemonsets'], [...READ, ...WRITE, 'delete']),
    events,
  ],
}

/** The one object of our namespace that every commit may declare: the configuration of agents. */
const syncInside: RoleEntry = {
  name: 'kubenode:sync',
  namespace: SYSTEM_NAMESPACE,
  subjects: programs('sync'),
  rules: [ours(['configmaps'], [DECLARE_VERB], [AGENT_CONFIG_NAME])],
}

/** Policy kubenode-declared: each of them is listed by the installer first. */
const syncTemplates: RoleEntry = {
  name: 'kubenode:sync',
  namespace: ACCEPTANCE_NAMESPACE,
  subjects: programs('sync'),
  rules: [core(['podtemplates'], [...READ, ...WRITE, 'delete'])],
}

/** Where it runs: sources, releases, and the kubeconfigs of the members. */
const syncOnHub: RoleEntry = {
  name: 'kubenode:sync-hub',
  onHub: true,
  subjects: programs('sync'),
  rules: [
    ours(pluralsOf(true), [...LOOK, ...WRITE, 'delete']),
    ours(['releases'], ['list', 'watch', 'create', 'delete']),
    ours(['releases/status', 'fleetsources/status', 'clusters/status'], ['update']),
    // Before a mass deletion in a cluster.
    ours(['operationpermits'], ['get', 'create', 'update']),
    ours(['approvals', 'defenderpolicies'], ['list', 'watch']),
  ],
}

/** Jobs that render a commit: a policy holds their form. */
const renders: RoleEntry = {
  name: 'kubenode:sync-hub',
  onHub: true,
  namespace: RENDER_NAMESPACE,
  subjects: programs('sync'),
  rules: [
    on('batch')(['jobs'], ['create', 'get', 'list', 'delete']),
    // They go with their Job.
    core(['configmaps'], ['create']),
    core(['pods'], ['list', 'watch']),
    core(['pods/log'], ['get']),
    // Why a Job has no pod.
    core(['events'], ['list']),
  ],
}

/** The certificate of its own, which controllers read, too. */
const artifacts: RoleEntry = {
  name: 'kubenode:artifacts',
  namespace: SYSTEM_NAMESPACE,
  subjects: [
    { kind: 'User', name: programUser('artifacts') },
    { kind: 'ServiceAccount', name: ARTIFACTS_ACCOUNT },
  ],
  rules: [core(['secrets'], ['create']), core(['secrets'], ['get', 'update'], [ARTIFACTS_SECRET])],
}

/** What the page draws. It writes nothing: Holds and Approvals are made with the rights of people. */
const page: RoleEntry = {
  name: 'kubenode:console',
  subjects: [
    { kind: 'User', name: programUser('console') },
    { kind: 'ServiceAccount', name: CONSOLE_ACCOUNT },
  ],
  rules: [
    ours(
      [
        'machines',
        'machinesets',
        'machinecomponentsets',
        'componentcanaries',
        'operationpermits',
        'defenderpolicies',
        'defenderledgers',
        'fleetbrakes',
        'operationalholds',
        'remedyoperationjobs',
        'noderemediers',
        'maintenanceevents',
        'fleetsources',
        'releases',
        'clusters',
      ],
      ['list', 'watch'],
    ),
    // Their conditions: a problem that a detector found is shown, and is never left out of "all is well".
    core(['nodes'], ['list', 'watch']),
  ],
}

/** What is written down of what happens. It writes nothing but its Lease, and reads no Secret, ConfigMap or pod. */
const history: RoleEntry = {
  name: 'kubenode:history',
  subjects: programs('history'),
  rules: [
    ours(
      SHAPES.filter(({ type }) => type.group === API_GROUP).map(({ type }) => type.plural),
      ['list', 'watch'],
    ),
    core(['nodes'], ['list', 'watch']),
  ],
}

/** Whether the programs run. The Leases of agents are in the same namespace: they are not read. */
const pageLeases: RoleEntry = {
  ...page,
  namespace: SYSTEM_NAMESPACE,
  rules: [leases(['leases'], ['get'], PROGRAMS.filter((p) => p !== 'history').map(programLeaseName))],
}

const controllers: RoleEntry = {
  name: 'kubenode:controllers',
  subjects: programs('controllers'),
  rules: [
    ours(
      ['componentconfigs', 'defenderpolicies', 'inventories', 'machinecomponents', 'operationalholds'],
      ['list', 'watch'],
    ),
    // For machines without an agent, right before they are installed.
    ours(['componentconfigs', 'machinecomponents'], ['get']),
    // What is known of work on hosts: written down, kept for a month.
    ours(['maintenanceevents'], [...LOOK, 'create', 'update', 'delete']),
    ours(['maintenanceevents/status'], ['update']),
    ours(['componentcanaries', 'machinecomponentsets'], LOOK),
    // Machines carry them; an answer is encrypted to the user that asked.
    ours(['logrequests'], ['list', 'watch', 'delete']),
    ours(['machines', 'machinesets', 'noderemediers', 'operationpermits', 'remedyoperationjobs'], LOOK),
    ours(['machines'], [...WRITE, 'delete']),
    ours(['remedyoperationjobs'], ['create', 'update', 'delete']),
    ours(['componentconfigs'], ['create', 'delete']),
    ours(['operationpermits'], ['create', 'update']),
    // Its finalizer; what git declares of a spec is not touched.
    ours(['machinesets'], ['update']),
    // An apply of the fields that are theirs; agents write the others.
    ours(['machines/status', 'remedyoperationjobs/status'], ['patch']),
    ours(
      ['machinesets/status', 'machinecomponentsets/status', 'componentcanaries/status', 'noderemediers/status'],
      ['update'],
    ),
    ours(
      ['machines/finalizers', 'machinesets/finalizers', 'machinecomponentsets/finalizers', 'noderemediers/finalizers'],
      ['update'],
    ),
    // What the nodes of a pool use, where the cluster measures it.
    on('metrics.k8s.io')(['nodes'], ['list']),
    core(['nodes'], [...LOOK, 'update', 'delete']),
    // Conditions that tell others of drains, maintenance and repairs.
    core(['nodes/status'], ['patch']),
    core(['pods'], ['list', 'watch', 'delete']),
    core(['pods/eviction'], ['create']),
    // How much time a Job asks for before its pods are evicted.
    on('batch')(['jobs'], ['get']),
    // Where the devices of claims are, and no new pods on a faulty one.
    on('resource.k8s.io')(['resourceslices'], ['list']),
    on('resource.k8s.io')(['devicetaintrules'], ['list', 'create', 'delete']),
    // The revisions of the workload tell which template is the newest.
    apps(['daemonsets'], ['get']),
    apps(['controllerrevisions'], ['list']),
    events,
  ],
}

/** Decides which programs may be agents, and does nothing else: the annotation that it writes on a Machine is all that policies let it change there. */
const approver: RoleEntry = {
  name: 'kubenode:approver',
  subjects: programs('approver'),
  rules: [
    ours(['machines'], [...LOOK, 'patch']),
    certificates(['certificatesigningrequests'], ['list', 'watch']),
    certificates(['certificatesigningrequests/approval'], ['update']),
    certificates(['signers'], ['approve'], [AGENT_SIGNER, TOKEN_SIGNER]),
    events,
  ],
}

/** One-time join tokens are bootstrap tokens, which live there and nowhere else. */
const joinTokens: RoleEntry = {
  name: 'kubenode:approver',
  namespace: KUBE_SYSTEM,
  subjects: programs('approver'),
  rules: [core(['secrets'], ['get', 'create', 'delete'])],
}

const AGENT_RIGHTS: readonly PolicyRule[] = [ours(['machines'], [AGENT_VERB]), core(['nodes'], [AGENT_VERB])]

/** Agents without certificates: an account with the identity of its Machine, which the approver can give because it has it of all, and sealed tokens. */
const agentAccounts: RoleEntry = {
  name: 'kubenode:approver',
  namespace: AGENTS_NAMESPACE,
  subjects: programs('approver'),
  rules: [
    core(['serviceaccounts'], ['get', 'list', 'create', 'delete']),
    core(['serviceaccounts/token'], ['create']),
    core(['configmaps'], ['get', 'create', 'update', 'delete']),
    // A policy holds what they give to the verb below.
    rbac(['roles', 'rolebindings'], ['get', 'create', 'delete']),
    ...AGENT_RIGHTS,
  ],
}

/** Hosts that join with such an account. */
const joinAccounts: RoleEntry = {
  name: 'kubenode:approver:accounts',
  namespace: JOIN_NAMESPACE,
  subjects: programs('approver'),
  rules: [core(['serviceaccounts'], ['get', 'create', 'delete']), core(['serviceaccounts/token'], ['create'])],
}

/** Sealed to the key of one host each: of no use to other readers. By name only. */
const agentTokens: RoleEntry = {
  name: 'kubenode:agents:tokens',
  namespace: AGENTS_NAMESPACE,
  subjects: [
    { kind: 'Group', name: AGENT_ACCOUNTS_GROUP },
    { kind: 'Group', name: JOIN_ACCOUNTS_GROUP },
    { kind: 'User', name: programUser('artifacts') },
    { kind: 'ServiceAccount', name: ARTIFACTS_ACCOUNT },
  ],
  rules: [core(['configmaps'], ['get'])],
}

/** Never listed: the one that a Cluster names. */
const kubeconfigs: RoleEntry = {
  name: 'kubenode:sync-hub',
  onHub: true,
  namespace: CLUSTERS_NAMESPACE,
  subjects: programs('sync'),
  rules: [core(['secrets'], ['get'])],
}

/** On the hub alone: what git declares of Clusters is not touched but for a finalizer, one that git does not declare is deleted when its time is over, and every change of a control plane needs a permit. */
const clusterRole: RoleEntry = {
  name: 'kubenode:cluster-hub',
  onHub: true,
  subjects: programs('cluster'),
  rules: [
    // Deleted at the end of its time, unless git declares it.
    ours(['clusters'], [...LOOK, 'update', 'delete']),
    ours(['clusters/status'], ['update']),
    // Whether git still declares a Cluster that was deleted, among them.
    ours(['operationalholds', 'defenderpolicies', 'inventories'], ['list', 'watch']),
    ours(['operationpermits'], [...LOOK, 'create', 'update']),
    // A restore that loses writes is approved by a person.
    ours(['approvals'], ['list', 'watch']),
    // A policy holds it to namespaces of control planes, and to this one role there.
    core(['namespaces'], ['get', 'list', 'create', 'update', 'delete']),
    rbac(['rolebindings'], ['create']),
    rbac(['clusterroles'], ['bind'], [CONTROL_PLANE_ROLE]),
    // Whether the hub has room for one API server more.
    core(['nodes', 'pods'], ['list']),
    events,
  ],
}

/** In namespaces of control planes alone: the program of clusters binds it to itself in each that it makes. */
const controlPlanes: RoleEntry = {
  name: CONTROL_PLANE_ROLE,
  onHub: true,
  subjects: [],
  rules: [
    core(['secrets'], ['get', 'list', 'create', 'update', 'patch', 'delete']),
    core(['configmaps', 'services', 'persistentvolumeclaims'], ['get', 'list', 'create', 'patch', 'delete']),
    core(['resourcequotas'], ['list', 'create', 'patch']),
    core(['pods/log'], ['get']),
    // Of a member of etcd that is replaced: it holds the volume that is lost.
    core(['pods'], ['delete']),
    apps(['deployments', 'statefulsets'], ['get', 'list', 'create', 'patch', 'delete']),
    on('batch')(['jobs'], ['get', 'list', 'create', 'patch', 'delete']),
    on('policy')(['poddisruptionbudgets'], ['list', 'create', 'patch', 'delete']),
    on('networking.k8s.io')(['networkpolicies'], ['list', 'create', 'patch', 'delete']),
  ],
}

/** The kubeconfigs that sync has for the control planes, never listed, and the recipes of addons that Clusters name. */
const clusterKubeconfigs: RoleEntry = {
  name: 'kubenode:cluster-hub',
  onHub: true,
  namespace: CLUSTERS_NAMESPACE,
  subjects: programs('cluster'),
  rules: [core(['secrets'], ['get', 'create', 'patch', 'delete']), core(['configmaps'], ['get'])],
}

/** Of previews. No recipe is there. */
const previewKubeconfigs: readonly RoleEntry[] = [
  { ...kubeconfigs, namespace: PREVIEWS_NAMESPACE },
  {
    ...clusterKubeconfigs,
    namespace: PREVIEWS_NAMESPACE,
    rules: [core(['secrets'], ['get', 'create', 'patch', 'delete'])],
  },
]

/** For jobs that try a branch: `kubenode preview run`. The code of the branch can take what they have, so it opens no cluster but previews. */
const previewUser: readonly RoleEntry[] = [
  { name: PREVIEW_USER, onHub: true, subjects: [], rules: [ours(['fleetsources', 'clusters'], ['get', 'list'])] },
  {
    name: PREVIEW_USER,
    onHub: true,
    namespace: PREVIEWS_NAMESPACE,
    subjects: [],
    rules: [core(['secrets'], ['get'])],
  },
]

const hostedSubjects = (program: HostedProgram): readonly Subject[] => [
  { kind: 'User', name: programUser(hostedAccount(program)) },
  { kind: 'ServiceAccount', name: hostedWorkload(program) },
]

/** Which Clusters there are; what it does in each it does with another identity. */
const hosted: RoleEntry = {
  name: 'kubenode:hosted',
  onHub: true,
  subjects: HOSTED_PROGRAMS.flatMap(hostedSubjects),
  rules: [ours(['clusters'], ['list', 'watch'])],
}

/** Its kubeconfigs, never listed, and the Leases by which its replicas share the Clusters. Those of the other programs are in other namespaces. */
const hostedInside = (program: HostedProgram): RoleEntry => ({
  name: `kubenode:${hostedAccount(program)}`,
  onHub: true,
  namespace: hostedNamespace(program),
  subjects: hostedSubjects(program),
  rules: [core(['secrets'], ['get']), leases(['leases'], ['get', 'list', 'create', 'update', 'delete'])],
})

/** Made for control planes on the hub; those of registered Clusters are made by people. The Leases of replicas say which Clusters they run the program for. */
const hostedKubeconfigs = (program: HostedProgram): RoleEntry => ({
  ...clusterKubeconfigs,
  namespace: hostedNamespace(program),
  rules: [core(['secrets'], ['get', 'create', 'patch', 'delete']), leases(['leases'], ['list'])],
})

/** What hands a join token over, by the uid of its machine: made and deleted by one, given to the host and marked by the other. */
const handOver = (program: Program, verbs: readonly string[]): RoleEntry => ({
  name: `kubenode:${program}`,
  namespace: JOIN_NAMESPACE,
  subjects: programs(program),
  rules: [core(['secrets'], verbs)],
})

const webhookKey: RoleEntry = {
  name: 'kubenode:defender',
  namespace: WEBHOOK_NAMESPACE,
  subjects: programs('defender'),
  rules: [core(['secrets'], ['create']), core(['secrets'], ['get', 'update'], [WEBHOOK_SECRET])],
}

/** Pods that inspect a step of a rollout. */
const probes: RoleEntry = {
  name: 'kubenode:controllers',
  namespace: PROBES_NAMESPACE,
  subjects: programs('controllers'),
  rules: [core(['pods'], ['create'])],
}

/** Pods that accept a node. Templates are read by name: who may write them there is up to people. */
const acceptance: RoleEntry = {
  name: 'kubenode:controllers',
  namespace: ACCEPTANCE_NAMESPACE,
  subjects: programs('controllers'),
  rules: [core(['pods'], ['get', 'create', 'delete']), core(['podtemplates'], ['get'])],
}

const nodeLeases: RoleEntry = {
  name: 'kubenode:controllers',
  namespace: NODE_LEASES,
  subjects: programs('controllers'),
  rules: [leases(['leases'], [...LOOK, 'delete'])],
}

const defender: RoleEntry = {
  name: 'kubenode:defender',
  subjects: programs('defender'),
  rules: [
    ours(
      [
        'approvals',
        'defenderpolicies',
        'fleetbrakes',
        'inventories',
        'machinecomponents',
        'machinecomponentsets',
        'maintenanceevents',
        'operationalholds',
      ],
      ['list', 'watch'],
    ),
    // Read again before one counts as deleted.
    ours(['clusters', 'machines', 'operationpermits'], LOOK),
    ours(['defenderledgers'], ['get', 'create', 'update']),
    ours(['operationpermits/status', 'defenderpolicies/status', 'operationalholds/status'], ['update']),
    // A day after they ended.
    ours(['operationalholds', 'operationpermits'], ['delete']),
    core(['nodes'], LOOK),
    // Whether KubeNode is being uninstalled, and whether a deletion that was admitted happened.
    core(['namespaces'], ['get']),
    on('apiextensions.k8s.io')(['customresourcedefinitions'], ['get']),
    on('admissionregistration.k8s.io')(['validatingwebhookconfigurations'], ['create']),
    // One that another client deleted is made again, and none is changed.
    on('admissionregistration.k8s.io')(
      ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'],
      ['list', 'watch', 'create'],
    ),
    on('admissionregistration.k8s.io')(['validatingwebhookconfigurations'], ['get', 'patch'], [API_GROUP]),
    // The owner of that configuration: they are deleted together.
    on('rbac.authorization.k8s.io')(['clusterroles'], ['get'], [userOf('defender')]),
    events,
  ],
}

const defenderNodeLeases: RoleEntry = {
  name: 'kubenode:defender',
  namespace: NODE_LEASES,
  subjects: programs('defender'),
  rules: [leases(['leases'], ['get'])],
}

export const AGENTS: readonly Subject[] = [
  { kind: 'Group', name: AGENTS_GROUP },
  { kind: 'Group', name: AGENT_ACCOUNTS_GROUP },
]

/** Roles cannot tell one agent from another: the admission policies hold each to what is its own. Nothing that an agent can read holds a secret. */
const agents: RoleEntry = {
  name: 'kubenode:agents',
  subjects: AGENTS,
  rules: [
    // Watched by name, which a role can't demand of a group: the names of other machines and jobs can be listed.
    ours(['machines', 'remedyoperationjobs'], LOOK),
    ours(['machinecomponents', 'componentconfigs', 'operationpermits'], ['get']),
    // By a name that is random, and that the Machine carries encrypted for its own agent.
    ours(['logrequests'], ['get']),
    ours(['machines/status', 'remedyoperationjobs/status', 'logrequests/status'], ['patch']),
    core(['nodes'], ['get', 'create']),
    core(['nodes/status'], ['patch']),
    events,
  ],
}

/** Agents that are service accounts get tokens instead. */
const agentCertificates: RoleEntry = {
  name: 'kubenode:agents:certificates',
  subjects: [{ kind: 'Group', name: AGENTS_GROUP }],
  rules: [certificates(['certificatesigningrequests'], ['create', 'get'])],
}

/** Sealed values: whose they are not, they are of no use to. By name only. */
const agentValues: RoleEntry = {
  name: 'kubenode:agents:values',
  namespace: SYSTEM_NAMESPACE,
  subjects: AGENTS,
  rules: [core(['configmaps'], ['get'])],
}

/** Without `get`: an agent writes its own Leases and has no reason to read any. */
const agentLeases = (namespace: string): RoleEntry => ({
  name: 'kubenode:agents',
  namespace,
  subjects: AGENTS,
  rules: [leases(['leases'], ['create', 'patch'])],
})

/** A join token may request a certificate and check whether it was issued. */
const bootstrappers: RoleEntry = {
  name: 'kubenode:bootstrappers',
  subjects: [
    { kind: 'Group', name: BOOTSTRAP_GROUP },
    { kind: 'Group', name: JOIN_ACCOUNTS_GROUP },
  ],
  rules: [certificates(['certificatesigningrequests'], ['create', 'get'])],
}

/** Reads a machine, and queues what its host proved; a policy keeps it from changing requests of others. */
const door: RoleEntry = {
  name: 'kubenode:door',
  subjects: [{ kind: 'User', name: DOOR_USER }],
  rules: [
    ours(['machines'], ['get']),
    certificates(['certificatesigningrequests'], ['get', 'list', 'create', 'delete']),
  ],
}

/** For people: `kubenode logs`. With names of machines in a role of their own, `machines/log` gives the logs of those alone. */
const logsReader: RoleEntry = {
  name: LOGS_READER,
  subjects: [],
  rules: [
    ours(['logrequests'], ['create', 'get', 'watch', 'delete']),
    ours(['machines'], ['get']),
    ours(['machines/log'], ['get']),
  ],
}

const METERED_SUBJECTS: readonly Subject[] = [
  ...PROGRAMS.flatMap(programs),
  { kind: 'ServiceAccount', name: ARTIFACTS_ACCOUNT },
  { kind: 'ServiceAccount', name: CONSOLE_ACCOUNT },
  ...HOSTED_PROGRAMS.flatMap(hostedSubjects),
]

/** Asks who reads its metrics, and whether that user may. Agents ask too: monitoring.yaml binds them, since their door is closed in a cluster without Prometheus. */
const metricsAccess: RoleEntry = {
  name: METRICS_ACCESS,
  subjects: METERED_SUBJECTS,
  rules: [
    on('authentication.k8s.io')(['tokenreviews'], ['create']),
    on('authorization.k8s.io')(['subjectaccessreviews'], ['create']),
  ],
}

const metricsReader: RoleEntry = {
  name: METRICS_READER,
  subjects: [],
  // As kubelets ask for it: those of agents.
  rules: [core(['nodes/metrics'], ['get'])],
  paths: ['/metrics'],
}

/** The certificate of its metrics, in a Secret that the installer made. */
const metricsKey = (program: (typeof METERED)[number]): RoleEntry => ({
  name: `kubenode:metrics-${program}`,
  namespace: SYSTEM_NAMESPACE,
  subjects:
    program === 'hosted'
      ? HOSTED_PROGRAMS.flatMap(hostedSubjects)
      : METERED_SUBJECTS.filter((s) => s.name === `kubenode-${program}` || s.name === `kubenode:${program}`),
  rules: [core(['secrets'], ['get', 'update'], [metricsSecretName(program)])],
})

export const ROLES: readonly RoleEntry[] = [
  sync,
  syncInside,
  syncTemplates,
  syncOnHub,
  kubeconfigs,
  clusterRole,
  clusterKubeconfigs,
  ...previewKubeconfigs,
  ...previewUser,
  controlPlanes,
  renders,
  artifacts,
  history,
  page,
  pageLeases,
  controllers,
  approver,
  joinTokens,
  agentAccounts,
  joinAccounts,
  agentTokens,
  handOver('approver', ['get', 'create', 'delete']),
  handOver('controllers', ['get', 'update']),
  probes,
  acceptance,
  nodeLeases,
  defender,
  defenderNodeLeases,
  webhookKey,
  agents,
  agentCertificates,
  agentLeases(SYSTEM_NAMESPACE),
  agentValues,
  agentLeases(NODE_LEASES),
  bootstrappers,
  door,
  metricsAccess,
  metricsReader,
  logsReader,
  hosted,
  ...HOSTED_PROGRAMS.map(hostedInside),
  ...HOSTED_PROGRAMS.map(hostedKubeconfigs),
  ...METERED.map(metricsKey),
  ...PROGRAMS.map(election),
]
