// Names shared by several rooms: field managers, identities, labels, annotations, taints, finalizers. Each is defined once here.

/** Namespace of KubeNode's own objects (Leases, Secrets, ControllerRevisions). */
export const SYSTEM_NAMESPACE = 'kubenode-system'

/** Namespace of pods that inspect a rollout step: nothing there has rights. */
export const PROBES_NAMESPACE = 'kubenode-probes'

/**
 * Secrets of different kinds are in separate namespaces, so that each program only reads its own. Sync on the hub reads members' kubeconfigs and git
 * credentials here.
 */
export const CLUSTERS_NAMESPACE = 'kubenode-clusters'
/** The Defender reads the webhook's key here. */
export const WEBHOOK_NAMESPACE = 'kubenode-webhook'
/** The approver and the controllers read pending join tokens here. Secrets for components are in the system namespace, for the controllers. */
export const JOIN_NAMESPACE = 'kubenode-join'
/**
 * Accounts of agents on clusters that sign no certificates for them, named by their Machine's uid. No pod can be created there, and only the approver issues
 * tokens.
 */
export const AGENTS_NAMESPACE = 'kubenode-agents'
/**
 * Namespace of Jobs that render commits: nothing there has rights, a token or network access. Only sync creates Jobs there, and no commit declares anything
 * there.
 */
export const RENDER_NAMESPACE = 'kubenode-render'

/**
 * Namespace of pods that accept a node, and of the PodTemplates that people put there: who may write those decides what runs on every node. Nothing else of
 * KubeNode is there.
 */
export const ACCEPTANCE_NAMESPACE = 'kubenode-acceptance'

/**
 * Namespace of the kubeconfigs of previews, apart from those of other clusters: a job that tries a branch reads them, and runs code of that branch. Nothing
 * else of KubeNode is there.
 */
export const PREVIEWS_NAMESPACE = 'kubenode-previews'
/** For people, and jobs that they trust with nothing else: a ClusterRole and a Role of that namespace. */
export const PREVIEW_USER = 'kubenode:preview-user'
/** How the names of previews begin. A name never changes, so no other Cluster comes to count as one. */
export const PREVIEW_PREFIX = 'pv-'

/** Programs that a hub runs for its Clusters. */
export const HOSTED_PROGRAMS = ['controllers', 'approver', 'defender'] as const
export type HostedProgram = (typeof HOSTED_PROGRAMS)[number]
/** The name of such a program on the hub, where it only knows which Clusters there are. */
export const hostedAccount = (program: HostedProgram): string => `hosted-${program}`
/** Its workload on the hub, and the account of its pods. */
export const hostedWorkload = (program: HostedProgram): string => `kubenode-${hostedAccount(program)}`
/** Kubeconfigs of one program for all Clusters, and the Leases of its replicas on the hub: each program reads its own alone. */
export const hostedNamespace = (program: HostedProgram): string => `kubenode-hosted-${program}`

/** Only the installer creates pods there, because a pod could mount any of these Secrets. */
export const OWN_NAMESPACES = [
  SYSTEM_NAMESPACE,
  PROBES_NAMESPACE,
  CLUSTERS_NAMESPACE,
  PREVIEWS_NAMESPACE,
  WEBHOOK_NAMESPACE,
  JOIN_NAMESPACE,
  AGENTS_NAMESPACE,
  RENDER_NAMESPACE,
  ACCEPTANCE_NAMESPACE,
  ...HOSTED_PROGRAMS.map(hostedNamespace),
] as const
/** The account of render pods. */
export const RENDER_ACCOUNT = 'kubenode-render'

/** A render's placeholder for a Secret that the commit only has encrypted; names the file for sync to decrypt. No API server has this kind. */
export const SEALED_SECRET = { apiVersion: 'render.kubenode.io/v1', kind: 'SealedSecret' } as const
/** `secrets/db.sops.yaml`, sops' naming. */
export const SEALED_FILE = /\.sops\.(ya?ml|json)$/

/** The Secret in the system namespace with the CA that hosts pin and the artifact servers' certificate. */
export const ARTIFACTS_SECRET = 'kubenode-artifacts-tls'

/** The Secret in the webhook's namespace in which a cluster's Defenders share its certificate and paths. */
export const WEBHOOK_SECRET = 'kubenode-webhook-tls'

/** The namespace of a Secret named by a Cluster or FleetSource: the same one, except for the system namespace, whose Secrets other programs read. */
export const syncSecretsNamespace = (of: string): string => (of === SYSTEM_NAMESPACE ? CLUSTERS_NAMESPACE : of)

/** The name of a Cluster's kubeconfig Secret, if no annotation names its Cluster. */
export const kubeconfigSecretName = (cluster: string): string => `cluster-${cluster}`

/** The name of the Secret with a kubeconfig for a control plane on the hub, wherever its Cluster is. */
export const hostedKubeconfigName = (namespace: string, cluster: string): string =>
  kubeconfigSecretName(namespace === SYSTEM_NAMESPACE ? cluster : `${namespace}.${cluster}`)

/** The Secret with sync's kubeconfig for it. */
export const hostedKubeconfigKey = (namespace: string, cluster: string) => ({
  namespace: cluster.startsWith(PREVIEW_PREFIX) ? PREVIEWS_NAMESPACE : CLUSTERS_NAMESPACE,
  name: hostedKubeconfigName(namespace, cluster),
})
/** Its key in the Secret. */
export const KUBECONFIG_KEY = 'kubeconfig'

/** The Secret in the system namespace with the certificate for a program's metrics, and its CA as `ca.crt`. */
export const metricsSecretName = (program: string): string => `kubenode-metrics-${program}`
/** The name that scrapers verify for every program and pod. */
export const METRICS_SERVER_NAME = `kubenode-metrics.${SYSTEM_NAMESPACE}.svc`
/** Its subjects may read the programs' metrics. */
export const METRICS_ACCESS = 'kubenode:metrics-access'
export const METRICS_READER = 'kubenode-metrics-reader'
/** Its subjects may read component logs with `kubenode logs` and in the console. */
export const LOGS_READER = 'kubenode-logs-reader'

/** The ConfigMap in the system namespace that lists revoked agents for admission policies. */
export const REVOKED_AGENTS = 'kubenode-revoked-agents'

/** The ConfigMap in the system namespace with a hub's version file: admission policies let control planes run only its images. People write it. */
export const CONTROL_PLANE_VERSIONS = 'kubenode-control-plane-versions'

/** The ConfigMap in the system namespace of a hub with the objects of programs that run in a Cluster. The installer writes it. */
export const CLUSTER_PROGRAMS = 'kubenode-cluster-programs'
/** Whole values in these objects that each Cluster has of its own, or that only role cluster knows. */
export const IN_CLUSTER = {
  name: '{cluster}',
  server: '{server}',
  artifactsAuthority: '{artifacts-authority}',
} as const

/** The ConfigMap in the system namespace that lists hosts whose agents did not answer when they were handed back. */
export const ABANDONED_HOSTS = 'kubenode-abandoned'

/** The ConfigMap in the system namespace that lists provider hosts without a Machine, and approved deletions. */
export const ORPHAN_HOSTS = 'kubenode-orphans'
/** ConfigMap with the node-seconds of each pool by day, from which what is left of a budget is counted. */
export const SERVICE_LEVELS = 'kubenode-service-levels'

/** Prefix of a hub's control plane namespaces: each has one control plane, its keys and its store. The cluster role creates them. */
export const CONTROL_PLANE_PREFIX = 'kc-'

/**
 * Prefixes of special namespaces, and their content. No commit may declare such a namespace, and a commit may only declare, change or delete what the installer
 * listed in it. Rendering, plans, policies, deletions and prunes use this list.
 */
export const TRUST_ZONES: readonly { readonly prefix: string; readonly holds: string }[] = [
  { prefix: 'kube-', holds: 'parts of Kubernetes' },
  { prefix: 'kubenode-', holds: 'parts of KubeNode' },
  { prefix: CONTROL_PLANE_PREFIX, holds: 'the control plane of a cluster' },
]
export const isInTrustZone = (namespace: string): boolean =>
  TRUST_ZONES.some(({ prefix }) => namespace.startsWith(prefix))
/** Not a system namespace, but no commit may declare it: objects without a namespace end up here, and so is the API server's Service. */
export const DEFAULT_NAMESPACE = 'default'

/** Of the Leases that kubelets renew. */
export const NODE_LEASES = 'kube-node-lease'

/**
 * A cluster does not work without these, so no client may delete them. Deleting those of agents and clusters would lose identities and credentials that no
 * program can recreate, for all hosts and clusters at once. The programs that own the others refill them.
 */
export const KEPT_NAMESPACES = [
  'kube-system',
  'kube-public',
  NODE_LEASES,
  SYSTEM_NAMESPACE,
  AGENTS_NAMESPACE,
  CLUSTERS_NAMESPACE,
] as const

/**
 * The installer lists an object for git by giving sync this verb on it in KubeNode's API group: `daemonsets/<service account>` for one that names an account.
 */
export const DECLARE_VERB = 'declare'
/** The same for host access: on `daemonsets` and similar, for a workload that uses anything not in src/api/ordinary-pods.ts. */
export const DECLARE_HOST_VERB = 'declare-host'

/** The user in a program's client certificate, and its service account where it runs as a pod. */
/** The cluster role's rights in a control plane's namespace; it binds the role to itself there. */
export const CONTROL_PLANE_ROLE = 'kubenode:control-planes'

export const programUser = (program: string): string => `kubenode:${program}`
export const programAccount = (program: string): string =>
  `system:serviceaccount:${SYSTEM_NAMESPACE}:kubenode-${program}`

/** The user that sync impersonates for a FleetSource with `spec.writes`: it only has the rights bound to this name. */
export const sourceUser = (namespace: string, name: string): string => `${SOURCE_USER_PREFIX}${namespace}:${name}`
export const SOURCE_USER_PREFIX = 'kubenode:source:'

/** One field manager per writer, so that server-side apply keeps them apart. */
export const FIELD_MANAGERS = {
  sync: 'kubenode-sync',
  machine: 'kubenode-machine',
  approver: 'kubenode-approver',
  machineSet: 'kubenode-machineset',
  componentSet: 'kubenode-componentset',
  canary: 'kubenode-canary',
  remedy: 'kubenode-remedy',
  remedyJob: 'kubenode-remedyjob',
  logs: 'kubenode-logs',
  sshJoin: 'kubenode-sshjoin',
  sshNodes: 'kubenode-sshnodes',
  cluster: 'kubenode-cluster',
  hostDoctor: 'kubenode-hostdoctor',
  nodeLifecycle: 'kubenode-nodelifecycle',
  defender: 'kubenode-defender',
  render: 'kubenode-render',
  cli: 'kubenode-cli',
  install: 'kubenode-install',
  agent: 'kubenode-agent',
} as const

export type FieldManager = (typeof FIELD_MANAGERS)[keyof typeof FIELD_MANAGERS]

export const LABELS = {
  /** On Machines and their Nodes. */
  pool: 'kubenode.io/pool',
  zone: 'topology.kubernetes.io/zone',
  rack: 'kubenode.io/rack',
  /** On Machines or Nodes: a virtual machine's physical host, and its switch. */
  host: 'kubenode.io/host',
  switch: 'kubenode.io/switch',
  /** On Clusters. */
  /** The label by which a pipeline stage selects: `spec.stage` of a Cluster. */
  stage: 'kubenode.io/stage',
  region: 'topology.kubernetes.io/region',
  class: 'kubenode.io/class',
  /** On objects of one machine, if its name fits into a label; for a reliable lookup use the field instead. */
  component: 'kubenode.io/component',
  /** On pods that inspect a step: the uid of the set. */
  probeOf: 'kubenode.io/probe-of',
  /** On pods that accept a node: the uid of the Machine or of the repair. */
  acceptanceOf: 'kubenode.io/acceptance-of',
  /** On bootstrap-token Secrets from the approver, and on the Secrets that deliver them. */
  joinToken: 'kubenode.io/join-token',
  /** On certificate requests pending at the rejoin endpoint. */
  door: 'kubenode.io/door',
  /** On objects of one render in kubenode-render: its id. */
  render: 'kubenode.io/render',
  /** On objects with secret values sealed for one machine. */
  sealed: 'kubenode.io/sealed',
  /** On a Secret, with the value `true`: components may get its values. */
  forComponents: 'kubenode.io/for-components',
  /** On a Secret, with the value `true`: repair webhooks may send its token. */
  forWebhooks: 'kubenode.io/for-webhooks',
  /** On a Secret, with the value `true`: hosts may be joined over SSH with its key. */
  forSsh: 'kubenode.io/for-ssh',
  /** On a Secret in kubenode-clusters, with the value `true`: pipeline gates may use its token or CA. */
  forGates: 'kubenode.io/for-gates',
} as const

export const ANNOTATIONS = {
  /** On a Secret with an SSH key: comma-separated pools whose machines may be joined with it; all if absent. */
  sshPools: 'kubenode.io/ssh-pools',
  /** On a Secret with an SSH key: comma-separated hosts, ranges such as 10.1.0.0/16, or *.example.org that it may be used at; all if absent. */
  sshHosts: 'kubenode.io/ssh-hosts',
  /** On a Secret with a rescue key: comma-separated addresses and ranges from which hosts accept it; all if absent. */
  sshFrom: 'kubenode.io/ssh-from',
  /** On a Machine: a time. A join over SSH that failed before it is tried again. */
  joinAgain: 'kubenode.io/join-again',
  /** On a pod: how long a drain leaves it for its work to be saved, as in 20m. The rollout or repair bounds it. */
  drainWait: 'kubenode.io/drain-wait',
  /** On a pod: when its work was last saved. After the begin of a drain, the drain waits no longer for it and its gang. */
  checkpointedAt: 'kubenode.io/checkpointed-at',
  /** Comma-separated components that another source declares; `*` for all. */
  declaredElsewhere: 'kubenode.io/declared-elsewhere',
  /** On a rule: comma-separated conditions that something outside of the fleet sets, such as a node-problem-detector of the distribution. */
  conditionsElsewhere: 'kubenode.io/conditions-elsewhere',
  /** On the agents' configuration: `Condition: reason` for each condition without a rule, separated by semicolons. */
  withoutRule: 'kubenode.io/without-rule',
  /** On the Lease of a replica of a hosted program: the Clusters that it runs the program for, as JSON. */
  hosts: 'kubenode.io/hosts',
  /** On a pod that accepts a node: the uid of that Node, and the digest of the template it was created from. */
  acceptanceNode: 'kubenode.io/acceptance-node',
  acceptanceTemplate: 'kubenode.io/acceptance-template',
  /** On a kubeconfig Secret: its Cluster, as namespace/name. */
  cluster: 'kubenode.io/cluster',
  /** On a kubeconfig Secret from the cluster role: the Cluster's uid. One without it belongs to a user. */
  madeForUid: 'kubenode.io/made-for-uid',
  /** On the namespace of a control plane that runs as hub workloads: its state besides its objects, as JSON. As a label it marks these namespaces. */
  controlPlane: 'kubenode.io/control-plane',
  /** On namespace `kubenode-system`: the cluster's name, for an uninstall that was interrupted after the settings were deleted. */
  clusterName: 'kubenode.io/cluster-name',
  /** On the controllers' Lease: comma-separated providers that their leader serves. */
  providers: 'kubenode.io/providers',
  /** The commit that last changed the object's rendered content. */
  commit: 'kubenode.io/commit',
  /** The object's owner: namespace/name of the FleetSource. Only sync writes it, and it changes no object of another source. */
  source: 'kubenode.io/source',
  /** On an object of a fleet rehearsed on one machine: its content in git, where it differs here. Only sync writes it. */
  rehearsalOf: 'kubenode.io/rehearsal-of',
  /** With the value `true`, on an object that already existed when a commit first declared it: git changes it, but never deletes it. */
  found: 'kubenode.io/found',
  /** On a Cluster that sync created for a branch: namespace/name of the FleetSource, the branch, and the commit if it is for this one alone. */
  previewOf: 'kubenode.io/preview-of',
  previewBranch: 'kubenode.io/preview-branch',
  previewCommit: 'kubenode.io/preview-commit',
  /** On an object whose edit would roll out: the spec that git declares, as JSON. Only valid if the Inventory has its digest. */
  committed: 'kubenode.io/committed',
  /** On a Node: owner → {reason, until} of KubeNode's cordon, as JSON. */
  cordon: 'kubenode.io/cordon-owners',
  /** On a join-token Secret and on a CSR: their machine. Names may be longer than a label value. */
  machine: 'kubenode.io/machine',
  /** On what an agent writes or gets: its Machine's uid, for comparison in admission policies. */
  machineUid: 'kubenode.io/machine-uid',
  /** On a Machine: fingerprint of its agent's public key, written only by the approver. */
  agentKey: 'kubenode.io/agent-key',
  /** On the ConfigMap with an agent's sealed token: when the token was issued. */
  tokenIssued: 'kubenode.io/token-issued',
  /** On the list of hosts without a Machine: those with an approved deletion, each with the uid of the Machine it was created for. */
  approvedOrphans: 'kubenode.io/approved-orphans',
  /** On a Machine: which keys of its agent a user revoked, when and why. While set, only a key that the approver recorded later is accepted. */
  revoked: 'kubenode.io/revoked',
  /** On a bootstrap-token Secret: the recorded key that a join with it replaces; empty for a first join. */
  replacesKey: 'kubenode.io/replaces-key',
  /** On a certificate request from the rejoin endpoint: the proof that its host has the recorded key, as JSON. */
  doorProof: 'kubenode.io/door-proof',
  /** On a FleetSource: when a user, or its git server's webhook, asked sync to read its repository at once. */
  reconcile: 'kubenode.io/reconcile-requested',
  /** On a Machine: until when, and for which uid of it, a user lets an agent with an earlier Machine's certificate return. */
  readmit: 'kubenode.io/readmit',
  /** On a Secret that delivers a join token: the provider has it. */
  handedOver: 'kubenode.io/handed-over',
  /** On an object with sealed values: the name of the key that opens them, and the values' names in configurations. */
  sealedTo: 'kubenode.io/sealed-to',
  sealedIn: 'kubenode.io/sealed-in',
  /** On a ControllerRevision of a set: which of its components failed, and what was observed, as JSON. */
  blocked: 'kubenode.io/blocked',
  /** On a ControllerRevision of a set: which of its components completed their ladder, and the set's rollbacks from and to it, as JSON. */
  completed: 'kubenode.io/completed',
  /** On a ControllerRevision of a set: how long its rollout was predicted to take when it began, as JSON. */
  predicted: 'kubenode.io/predicted',
  /** On a Machine of a set: labels, annotations and taints that its set gave it, as JSON. Only these are changed or removed later. */
  template: 'kubenode.io/given-by-template',
  /** On a Node: keys of labels, annotations and taints that the machine controller added, as JSON. */
  owned: 'kubenode.io/owned-by-machine',
  /** On the pod template of a DaemonSet that is a component: the version of its pods. Without it the newest template counts. */
  componentVersion: 'kubenode.io/component-version',
  /** On a Machine: UIDs of permits under which it no longer gets orders, because it has released its slot in them. */
  letGo: 'kubenode.io/let-go',
  /** On a Machine created by `kubenode import`: undoing an import deletes exactly these. */
  imported: 'kubenode.io/imported',
  /**
   * With the value `true`, on the system namespace: KubeNode is being uninstalled, and the Defender no longer restores its webhook registration. On any of
   * KEPT_NAMESPACES: policy `kubenode-namespaces` lets it be deleted.
   */
  uninstalling: 'kubenode.io/uninstalling',
  /** On a MachineSet that is being deleted, with the value `true`: its machines stay without an owner, for the next set that selects them. */
  keepMachines: 'kubenode.io/keep-machines',
  /**
   * On a MachineSet that is being deleted, with the value `true`: its cluster is deleted too, so its machines leave, whatever git declares and other sets
   * select.
   */
  clusterLeaves: 'kubenode.io/cluster-leaves',
} as const

/** The cluster role's hold in a cluster that it deletes: no deletion limit or health floor keeps its machines. */
export const CLUSTER_LEAVES = 'cluster-leaves'

export const TAINTS = {
  /** KubeNode's cordon; `spec.unschedulable` belongs to users. */
  cordon: 'kubenode.io/cordon',
  /** On a joining node until its required components are installed. */
  componentsPending: 'kubenode.io/components-pending',
  /** Fencing, only once the provider reports that the machine is off. */
  outOfService: 'node.kubernetes.io/out-of-service',
} as const

export const FINALIZERS = {
  machine: 'kubenode.io/machine',
  machineSet: 'kubenode.io/machineset',
  job: 'kubenode.io/incident-record',
  maintenance: 'kubenode.io/maintenance',
  cluster: 'kubenode.io/control-plane',
} as const

/** The identity in an agent's client certificate. */
export const agentUser = (machine: string): string => `kubenode:agent:${machine}`
export const AGENTS_GROUP = 'kubenode:agents'
export const agentNodeGroup = (node: string): string => `kubenode:node:${node}`

/** This exact Machine, not a later one with its name. */
export const machineUidGroup = (uid: string): string => `kubenode:machine-uid:${uid}`

const KEY_DIGITS = 40

/** The certificate's own key, for comparison with the recorded one in admission policies. Shortened: a subject part has at most 64 characters. */
export const agentKeyGroup = (fingerprint: string): string => `kubenode:agent-key:${fingerprint.slice(0, KEY_DIGITS)}`

/** The key that tokens for the agent are sealed to: X25519, in 43 characters of base64url. */
export const tokenKeyGroup = (publicKey: string): string => `kubenode:token-key:${publicKey}`

const ACCOUNT_PREFIX = 'system:serviceaccount'
const accountsGroup = (namespace: string): string => `system:serviceaccounts:${namespace}`

/** The other identity type of an agent: a service account. It is deleted with its Machine, which invalidates its tokens. */
export const agentAccountName = (uid: string): string => `machine-${uid}`
export const agentAccountUser = (uid: string): string =>
  `${ACCOUNT_PREFIX}:${AGENTS_NAMESPACE}:${agentAccountName(uid)}`
/** Exactly the accounts of agents. */
export const AGENT_ACCOUNTS_GROUP = accountsGroup(AGENTS_NAMESPACE)
/**
 * With this verb in AGENTS_NAMESPACE an account has the identity of one Machine and one Node. Admission policies check it, because a service account names
 * neither.
 */
export const AGENT_VERB = 'act-as-agent'

/** The account of a host that joins without a bootstrap token; only valid for agents' certificate requests. */
export const joinAccountName = (uid: string): string => `join-${uid}`
export const joinAccountUser = (uid: string): string => `${ACCOUNT_PREFIX}:${JOIN_NAMESPACE}:${joinAccountName(uid)}`
export const JOIN_ACCOUNTS_GROUP = accountsGroup(JOIN_NAMESPACE)
/** No program signs for it: such a request is answered with a token. */
export const TOKEN_SIGNER = 'kubenode.io/agent-token'

/** Path on the artifact servers below which agents' sealed tokens are, by their Machine's uid. */
export const AGENT_TOKENS_PATH = '/agent-tokens/'

/** Reporter of an agent's events: the agent and its node monitors. No other program uses these names. */
export const AGENT_REPORTER = 'kubenode.io/agent'
export const AGENT_SOURCES_PREFIX = 'agent.kubenode.io/'

/** The event reporters of each program, which are its parts. Admission policies refuse a program that reports as another. */
export const PROGRAM_REPORTERS = {
  sync: ['kubenode.io/sync'],
  controllers: [
    'kubenode.io/machine',
    'kubenode.io/machineset',
    'kubenode.io/componentset',
    'kubenode.io/canary',
    'kubenode.io/remedy',
    'kubenode.io/hostdoctor',
    'kubenode.io/sshjoin',
    'kubenode.io/sshnodes',
    'kubenode.io/remedyjob',
    'kubenode.io/nodelifecycle',
    'kubenode.io/log',
    'kubenode.io/state',
    'kubenode.io/agents',
  ],
  approver: ['kubenode.io/approver'],
  cluster: ['kubenode.io/cluster'],
  history: ['kubenode.io/history'],
  defender: ['kubenode.io/defender'],
} as const

/** Queues requests of hosts with expired certificates. It has no other right, and only the proofs in the requests are trusted. */
export const DOOR_USER = 'kubenode:door'
/** Path of those requests, which need no rights. */
export const DOOR_PATH = '/kubenode.io/door'

/** A join token authenticates as a member of this group, in addition to `system:bootstrap:<token id>`. */
export const BOOTSTRAP_GROUP = 'system:bootstrappers:kubenode'
export const AGENT_SIGNER = 'kubernetes.io/kube-apiserver-client'

/** The Lease in the system namespace for a program's leader election. */
export const programLeaseName = (program: string): string => `kubenode-${program}`

/** Name of an agent's heartbeat Lease in the system namespace; kubelets' own are in NODE_LEASES. */
export const agentLeaseName = (machine: string): string => `agent-${machine}`
export const agentLeaseKey = (machine: string) => ({ namespace: SYSTEM_NAMESPACE, name: agentLeaseName(machine) })

/** A commit's target for the hub itself, among the clusters. */
export const HUB_TARGET = 'hub'
