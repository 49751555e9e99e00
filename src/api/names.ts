// The names that several parts share: field managers, identities, labels, annotations, taints, finalizers. Each is written here once.

/** Where our namespaced objects (Leases, Secrets, ControllerRevisions) live. */
export const SYSTEM_NAMESPACE = 'kubenode-system'

/** Where pods run that inspect a step of a rollout: nothing there has rights. */
export const PROBES_NAMESPACE = 'kubenode-probes'

/** Secrets of unlike kinds are apart, so that each program reads its own alone: kubeconfigs of members and credentials for git are read by sync on the hub, */
export const CLUSTERS_NAMESPACE = 'kubenode-clusters'
/** the key of the webhook by the Defender, */
export const WEBHOOK_NAMESPACE = 'kubenode-webhook'
/** and join tokens on their way by the approver and the controllers. What components are given is in the system namespace, for the controllers. */
export const JOIN_NAMESPACE = 'kubenode-join'
/** Accounts of agents on clusters that sign no certificates for them, by the uid of their Machines. No pod can be created there, and the approver alone makes tokens. */
export const AGENTS_NAMESPACE = 'kubenode-agents'
/** Where Jobs render commits: nothing there has rights, a token or the network, and sync alone makes Jobs there. No commit declares anything there. */
export const RENDER_NAMESPACE = 'kubenode-render'

/** Only the installer creates pods there: a pod could mount any of these Secrets. */
export const OWN_NAMESPACES = [
  SYSTEM_NAMESPACE,
  PROBES_NAMESPACE,
  CLUSTERS_NAMESPACE,
  WEBHOOK_NAMESPACE,
  JOIN_NAMESPACE,
  AGENTS_NAMESPACE,
  RENDER_NAMESPACE,
] as const
/** The account of the pods that render. */
export const RENDER_ACCOUNT = 'kubenode-render'

/** What a render answers in place of a Secret that the commit has only encrypted: a file that sync opens. No API server has this kind. */
export const SEALED_SECRET = { apiVersion: 'render.kubenode.io/v1', kind: 'SealedSecret' } as const
/** `secrets/db.sops.yaml`, as sops calls them. */
export const SEALED_FILE = /\.sops\.(ya?ml|json)$/

/** The Secret of the system namespace with the authority that hosts pin, and what the artifact servers serve with. */
export const ARTIFACTS_SECRET = 'kubenode-artifacts-tls'

/** The Secret of the webhook's namespace in which all Defenders of a cluster share its certificate and paths. */
export const WEBHOOK_SECRET = 'kubenode-webhook-tls'

/** Where the Secret is that a Cluster or a FleetSource names: beside it, but for those of the system namespace, whose Secrets other programs read. */
export const syncSecretsNamespace = (of: string): string => (of === SYSTEM_NAMESPACE ? CLUSTERS_NAMESPACE : of)

/** The name of the Secret with the kubeconfig of a Cluster, where no annotation says for which Cluster it is. */
export const kubeconfigSecretName = (cluster: string): string => `cluster-${cluster}`

/** The Secret of kubenode-clusters with the kubeconfig that sync has for a control plane on the hub, wherever its Cluster is. */
export const hostedKubeconfigName = (namespace: string, cluster: string): string =>
  kubeconfigSecretName(namespace === SYSTEM_NAMESPACE ? cluster : `${namespace}.${cluster}`)
/** What is in it. */
export const KUBECONFIG_KEY = 'kubeconfig'

/** The Secret of the system namespace with the certificate that a program serves its metrics with, and its authority as `ca.crt`. */
export const metricsSecretName = (program: string): string => `kubenode-metrics-${program}`
/** What scrapers verify, whichever program and pod they read. */
export const METRICS_SERVER_NAME = `kubenode-metrics.${SYSTEM_NAMESPACE}.svc`
/** Whose subjects may read the metrics of our programs. */
export const METRICS_READER = 'kubenode-metrics-reader'
/** Whose subjects may read logs of components with `kubenode logs`. */
export const LOGS_READER = 'kubenode-logs-reader'

/** The ConfigMap of the system namespace that lists revoked agents for admission policies. */
export const REVOKED_AGENTS = 'kubenode-revoked-agents'

/** The ConfigMap of the system namespace with the version file of a hub: admission policies let control planes run its images alone. People write it. */
export const CONTROL_PLANE_VERSIONS = 'kubenode-control-plane-versions'

/** The ConfigMap of the system namespace that lists hosts whose agents did not answer when they were handed back. */
export const ABANDONED_HOSTS = 'kubenode-abandoned'

/** The ConfigMap of the system namespace that lists hosts of providers without a Machine, and whose deletion a person approved. */
export const ORPHAN_HOSTS = 'kubenode-orphans'

/** Of a hub: each has one control plane, its keys and its store. The program of clusters makes them. */
export const CONTROL_PLANE_PREFIX = 'kc-'

/**
 * How names of namespaces begin that are not ordinary, and what is in them. No commit declares such a namespace, and in one it declares, changes and deletes only
 * what the installer listed. Rendering, plans, policies, deletions and prunes go by this list.
 */
export const TRUST_ZONES: readonly { readonly prefix: string; readonly holds: string }[] = [
  { prefix: 'kube-', holds: 'parts of Kubernetes' },
  { prefix: 'kubenode-', holds: 'parts of KubeNode' },
  { prefix: CONTROL_PLANE_PREFIX, holds: 'the control plane of a cluster' },
]
export const isInTrustZone = (namespace: string): boolean =>
  TRUST_ZONES.some(({ prefix }) => namespace.startsWith(prefix))
/** Not a system namespace, and still no commit declares it: objects without a namespace end up here, and the Service of the API server is here. */
export const DEFAULT_NAMESPACE = 'default'

/**
 * A cluster does not work without them: no client may delete them. With those of agents and clusters go identities and credentials that no program can
 * make again, at once and for all hosts and clusters; the others are filled again by the program that owns them.
 */
export const KEPT_NAMESPACES = [
  'kube-system',
  'kube-public',
  'kube-node-lease',
  SYSTEM_NAMESPACE,
  AGENTS_NAMESPACE,
  CLUSTERS_NAMESPACE,
] as const

/** The installer lists an object for git by giving sync this verb on it, in our API group: `daemonsets/<service account>` for one that names an account. */
export const DECLARE_VERB = 'declare'
/** The same for the power of the node: on `daemonsets` and the like, for a workload that uses what is not in src/api/ordinary-pods.ts. */
export const DECLARE_HOST_VERB = 'declare-host'

/** The user in a program's client certificate, and its service account where it runs as a pod. */
/** What the program of clusters may do in the namespace of a control plane; it binds it to itself there. */
export const CONTROL_PLANE_ROLE = 'kubenode:control-planes'

export const programUser = (program: string): string => `kubenode:${program}`
export const programAccount = (program: string): string =>
  `system:serviceaccount:${SYSTEM_NAMESPACE}:kubenode-${program}`

/** Whom sync acts as for a FleetSource with `spec.writes`: it has the rights that are bound to this name, and no others. */
export const sourceUser = (namespace: string, name: string): string => `${SOURCE_USER_PREFIX}${namespace}:${name}`
export const SOURCE_USER_PREFIX = 'kubenode:source:'

/** One field manager a writer: server-side apply keeps them apart. */
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
  cluster: 'kubenode-cluster',
  hostDoctor: 'kubenode-hostdoctor',
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
  /** On Machines or Nodes: the physical host of a virtual machine, and the switch that it hangs on. */
  host: 'kubenode.io/host',
  switch: 'kubenode.io/switch',
  /** On Clusters. */
  /** As a stage of a pipeline selects by it: `spec.stage` of a Cluster. */
  stage: 'kubenode.io/stage',
  region: 'topology.kubernetes.io/region',
  class: 'kubenode.io/class',
  /** On objects that belong to one machine when its name fits a label; look up by the field, not by this, when it must be sure. */
  component: 'kubenode.io/component',
  /** On pods that inspect a step: the uid of the set. */
  probeOf: 'kubenode.io/probe-of',
  /** On bootstrap-token Secrets that the approver made, and on the Secrets that hand them over. */
  joinToken: 'kubenode.io/join-token',
  /** On certificate requests that wait at the door. */
  door: 'kubenode.io/door',
  /** On what belongs to one render in kubenode-render: which. */
  render: 'kubenode.io/render',
  /** On objects that hold secret values sealed for one machine. */
  sealed: 'kubenode.io/sealed',
  /** On a Secret, with the value `true`: components may be given its values. */
  forComponents: 'kubenode.io/for-components',
  /** On a Secret, with the value `true`: webhooks of repairs may send its token. */
  forWebhooks: 'kubenode.io/for-webhooks',
  /** On a Secret of kubenode-clusters, with the value `true`: gates of pipelines may use its token or authority. */
  forGates: 'kubenode.io/for-gates',
} as const

export const ANNOTATIONS = {
  /** Components, separated by commas, that another source declares; `*` for all. */
  declaredElsewhere: 'kubenode.io/declared-elsewhere',
  /** On a Secret with a kubeconfig: the Cluster that it is for, as namespace/name. */
  cluster: 'kubenode.io/cluster',
  /** On a Secret with a kubeconfig that the program of clusters made: the uid of the Cluster. One without it belongs to a person. */
  madeForUid: 'kubenode.io/made-for-uid',
  /** On the namespace of a control plane that runs as workloads of the hub: what is kept of it beside its objects, as JSON. As a label it marks these namespaces. */
  controlPlane: 'kubenode.io/control-plane',
  /** On namespace `kubenode-system`: what the cluster is called, for an uninstall that was ended after the settings were deleted. */
  clusterName: 'kubenode.io/cluster-name',
  /** On the Lease of the controllers: the providers that their leader serves, separated by commas. */
  providers: 'kubenode.io/providers',
  /** The commit that last changed the rendered content of the object. */
  commit: 'kubenode.io/commit',
  /** Whose commit the object belongs to: namespace/name of the FleetSource. Sync alone writes it, and changes no object of another source. */
  source: 'kubenode.io/source',
  /** On an object of a fleet that is rehearsed on one machine: what it is in git, where it is something else here. Sync alone writes it. */
  rehearsalOf: 'kubenode.io/rehearsal-of',
  /** With the value `true`, on an object that another writer had made before a commit declared it first: git changes it, and never deletes it. */
  found: 'kubenode.io/found',
  /** On a Cluster that sync made for a branch: namespace/name of the FleetSource, and the branch. */
  previewOf: 'kubenode.io/preview-of',
  previewBranch: 'kubenode.io/preview-branch',
  /** On an object whose edit would roll out: the spec that git declares, as JSON. Counts only where the Inventory has its digest. */
  committed: 'kubenode.io/committed',
  /** On a Node: owner → {reason, until} of our cordon, as JSON. */
  cordon: 'kubenode.io/cordon-owners',
  /** On a join-token Secret and on a CSR: the one machine that it is for. Names may be longer than a label value. */
  machine: 'kubenode.io/machine',
  /** On what one agent writes or is given: the uid of its Machine, so that admission policies can compare it. */
  machineUid: 'kubenode.io/machine-uid',
  /** On a Machine: fingerprint of the public key of its agent, written by the approver alone. */
  agentKey: 'kubenode.io/agent-key',
  /** On the ConfigMap with the sealed token of an agent: when the token was made. */
  tokenIssued: 'kubenode.io/token-issued',
  /** On the list of hosts without a Machine: those that a person approved the deletion of, with the uid of the Machine each was made for. */
  approvedOrphans: 'kubenode.io/approved-orphans',
  /** On a Machine: which keys of its agent a person revoked, when and why. While it is there, only a key that the approver recorded later is accepted. */
  revoked: 'kubenode.io/revoked',
  /** On a bootstrap-token Secret: the recorded key that a join with it replaces; empty for a first join. */
  replacesKey: 'kubenode.io/replaces-key',
  /** On a certificate request that the door made: the proof that its host holds the key on record, as JSON. */
  doorProof: 'kubenode.io/door-proof',
  /** On a FleetSource: when a person, or a webhook of its git server, asked sync to read its repository at once. */
  reconcile: 'kubenode.io/reconcile-requested',
  /** On a Machine: until when, and for which uid of it, a person lets an agent with a certificate of an earlier Machine of the name come back. */
  readmit: 'kubenode.io/readmit',
  /** On a Secret that hands a join token over: the provider has it. */
  handedOver: 'kubenode.io/handed-over',
  /** On an object with sealed values: the name of the key that opens them, and what configurations call the values. */
  sealedTo: 'kubenode.io/sealed-to',
  sealedIn: 'kubenode.io/sealed-in',
  /** On a ControllerRevision of a set: which of its components failed, and what was seen, as JSON. */
  blocked: 'kubenode.io/blocked',
  /** On a ControllerRevision of a set: which of its components completed their ladder, and what the set went back from and to, as JSON. */
  completed: 'kubenode.io/completed',
  /** On a Node: keys of labels, annotations and taints that the machine controller put there, as JSON. */
  owned: 'kubenode.io/owned-by-machine',
  /** On the pod template of a DaemonSet that is a component: the version that its pods are. Without it the newest template counts. */
  componentVersion: 'kubenode.io/component-version',
  /** On a Machine: UIDs of permits under which it gets no further order, because it has released its slot in them. */
  letGo: 'kubenode.io/let-go',
  /** On a Machine created by `kubenode import`: undoing an import deletes exactly these. */
  imported: 'kubenode.io/imported',
  /**
   * With the value `true`, on the system namespace: KubeNode is being uninstalled, and the Defender no longer restores its webhook registration. On any of
   * KEPT_NAMESPACES: policy `kubenode-namespaces` lets it be deleted.
   */
  uninstalling: 'kubenode.io/uninstalling',
  /** On a MachineSet that is being deleted, with the value `true`: its machines stay, without an owner, for the next set that selects them. */
  keepMachines: 'kubenode.io/keep-machines',
  /** On a MachineSet that is being deleted, with the value `true`: its cluster goes with it, so its machines leave, whatever git declares and other sets select. */
  clusterLeaves: 'kubenode.io/cluster-leaves',
} as const

/** The hold that the program of clusters keeps in a cluster that it deletes: no limit of deletions and no health floor keeps its machines. */
export const CLUSTER_LEAVES = 'cluster-leaves'

export const TAINTS = {
  /** Our cordon; `spec.unschedulable` belongs to people. */
  cordon: 'kubenode.io/cordon',
  /** On a joining node until its required components are in. */
  componentsPending: 'kubenode.io/components-pending',
  /** Fencing, only after the provider says that the machine is off. */
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

/** The very Machine, not one of the same name after it. */
export const machineUidGroup = (uid: string): string => `kubenode:machine-uid:${uid}`

const KEY_DIGITS = 40

/** The key of the certificate itself, so that admission policies can compare it with the one on record. Shortened: a subject part has at most 64 letters. */
export const agentKeyGroup = (fingerprint: string): string => `kubenode:agent-key:${fingerprint.slice(0, KEY_DIGITS)}`

/** The key to which tokens for the agent are sealed: X25519, in 43 characters of base64url. */
export const tokenKeyGroup = (publicKey: string): string => `kubenode:token-key:${publicKey}`

const ACCOUNT_PREFIX = 'system:serviceaccount'
const accountsGroup = (namespace: string): string => `system:serviceaccounts:${namespace}`

/** The other form of an agent's identity: a service account. It is deleted with its Machine, and its tokens with it. */
export const agentAccountName = (uid: string): string => `machine-${uid}`
export const agentAccountUser = (uid: string): string =>
  `${ACCOUNT_PREFIX}:${AGENTS_NAMESPACE}:${agentAccountName(uid)}`
/** Accounts of agents, and no others. */
export const AGENT_ACCOUNTS_GROUP = accountsGroup(AGENTS_NAMESPACE)
/** With this verb in AGENTS_NAMESPACE an account has the identity of one Machine and one Node: admission policies ask for it, since a service account names neither. */
export const AGENT_VERB = 'act-as-agent'

/** A host that joins without a bootstrap token; good for the certificate requests that agents make, and nothing else. */
export const joinAccountName = (uid: string): string => `join-${uid}`
export const joinAccountUser = (uid: string): string => `${ACCOUNT_PREFIX}:${JOIN_NAMESPACE}:${joinAccountName(uid)}`
export const JOIN_ACCOUNTS_GROUP = accountsGroup(JOIN_NAMESPACE)
/** No program signs for it: the answer to such a request is a token. */
export const TOKEN_SIGNER = 'kubenode.io/agent-token'

/** Below it, at the artifact servers, are the sealed tokens of agents by the uid of their Machines. */
export const AGENT_TOKENS_PATH = '/agent-tokens/'

/** What an agent's events are reported by: the agent itself, and what it runs to watch the node. No other program reports under these names. */
export const AGENT_REPORTER = 'kubenode.io/agent'
export const AGENT_SOURCES_PREFIX = 'agent.kubenode.io/'

/** Whom the events of each program name as their writer: its parts. Admission policies refuse a program that reports as another. */
export const PROGRAM_REPORTERS = {
  sync: ['kubenode.io/sync'],
  controllers: [
    'kubenode.io/machine',
    'kubenode.io/machineset',
    'kubenode.io/componentset',
    'kubenode.io/canary',
    'kubenode.io/remedy',
    'kubenode.io/hostdoctor',
    'kubenode.io/remedyjob',
    'kubenode.io/log',
    'kubenode.io/state',
    'kubenode.io/agents',
  ],
  approver: ['kubenode.io/approver'],
  cluster: ['kubenode.io/cluster'],
  defender: ['kubenode.io/defender'],
} as const

/** Queues the requests of hosts whose certificates expired. It may do nothing else, and only the proofs in the requests are trusted. */
export const DOOR_USER = 'kubenode:door'
/** Where such hosts ask, with no rights at all. */
export const DOOR_PATH = '/kubenode.io/door'

/** What a join token authenticates as, beside `system:bootstrap:<token id>`. */
export const BOOTSTRAP_GROUP = 'system:bootstrappers:kubenode'
export const AGENT_SIGNER = 'kubernetes.io/kube-apiserver-client'

/** The Lease in the system namespace on which a program elects its leader. */
export const programLeaseName = (program: string): string => `kubenode-${program}`

/** Agents' heartbeat Leases live in the system namespace under this name; kubelets' own are in kube-node-lease. */
export const agentLeaseName = (machine: string): string => `agent-${machine}`

/** What a commit has for the hub itself, among what it has for each cluster. */
export const HUB_TARGET = 'hub'
