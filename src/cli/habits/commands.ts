// What people type whose hands know kubectl, Flux, Argo CD, Terraform or Ansible, and what to type here. Data only.

/** What to type, and what it does or what differs; in both, whatever begins with `kubenode` is a command line that exists. */
export type Advice = readonly [type: string, note: string]

const DECLARED: Advice = [
  'kubenode plan --dirty',
  'it shows what your edit in git changes; git commit and git push apply it',
]
const PLAN: Advice = ['kubenode plan', 'it shows what a commit changes; git push applies it']
const NO_SHELL: Advice = ['kubenode logs machine/NAME COMPONENT', 'KubeNode opens no shell on a host']
const WAIT: Advice = [
  'kubenode watch --until-done',
  'exit 0 when nothing is in progress, 1 when something failed; with --timeout 10m',
]
const READ_NOW: Advice = [
  'kubenode reconcile source/NAME',
  'on the hub; without it a commit is applied at the next interval',
]
const UNDO: Advice = ['git revert COMMIT', 'to stop it first: kubenode release abort NAME --reason WHY']
const MACHINES: Advice = ['kubenode get machines', 'one of them in full: kubenode describe machine/NAME']
const ONE: Advice = ['kubenode describe KIND/NAME', 'as YAML: kubenode get KIND/NAME -o yaml']
const CLUSTERS: Advice = ['kubenode get clusters', 'on the hub; each command takes --context NAME']
const RELEASES: Advice = ['kubenode get releases', 'on the hub; a release is a commit on its way through the clusters']
const SOURCES: Advice = ['kubenode get sources', 'on the hub']
const HISTORY: Advice = [
  'kubenode release history',
  'commits, on the hub; revisions of a set: kubenode rollout history NAME',
]
const REPAIR: Advice = ['kubenode repair node/NAME --reason WHY', 'what blocks it: kubenode why-not node/NAME']
const WHO: Advice = [
  'kubectl auth whoami',
  'there is no login; the identity is that of --kubeconfig FILE and --context NAME',
]

const JOIN: Advice = [
  'kubenode machine join-command NAME',
  'it prints the line for the host; a Node that is there: kubenode import NODE first',
]
const LEAVE: Advice = [
  'kubectl delete machines.kubenode.io NAME',
  'its host is handed back; on the host itself: kubenode agent leave',
]

/** By the words after `kubenode`; the longest row wins. */
export const COMMAND_HABITS: Readonly<Record<string, Advice>> = {
  // kubectl
  annotate: DECLARED,
  'api-resources': ['kubectl api-resources --api-group kubenode.io', 'the kinds are also in docs/reference'],
  'api-versions': ['kubenode version', 'it names the version of the API'],
  apply: DECLARED,
  attach: NO_SHELL,
  auth: WHO,
  'auth can-i': ['kubectl auth can-i VERB machines.kubenode.io', 'what the server lacks: kubenode check'],
  certificate: ['kubenode check', 'certificates of agents are signed by the approver'],
  'cluster-info': ['kubenode check', 'it shows the server and what does not work there'],
  config: ['kubectl config get-contexts', 'here each command takes --context NAME'],
  context: ['kubectl config get-contexts', 'here each command takes --context NAME'],
  cordon: ['kubectl cordon NAME', 'to keep KubeNode away from a node: kubenode freeze node/NAME --reason WHY'],
  create: DECLARED,
  debug: NO_SHELL,
  delete: [
    'kubectl delete machines.kubenode.io NAME',
    'deletes a machine; to delete an object that git declares, remove it in a commit',
  ],
  drain: ['kubectl drain NAME', 'KubeNode drains by itself, under a permit, where a repair or a rollout needs it'],
  edit: DECLARED,
  exec: NO_SHELL,
  explain: ['kubectl explain machines --api-version kubenode.io/v1alpha1', 'fields are also in docs/reference'],
  label: DECLARED,
  options: ['kubenode --help', 'options of a command: kubenode help COMMAND'],
  patch: DECLARED,
  'port-forward': ['kubectl port-forward', 'KubeNode opens no port on a host'],
  'rollout pause': ['kubenode pause set/NAME --reason WHY', 'it ends by itself after four hours, or with --for'],
  'rollout restart': ['kubenode rollout retry set/NAME --reason WHY', 'it tries a failed revision again'],
  'rollout resume': ['kubenode resume set/NAME', ''],
  'rollout undo': [
    'kubenode rollback set/NAME',
    'it prints the git command; at once: kubenode rollback set/NAME --now --reason WHY',
  ],
  ps: MACHINES,
  scale: DECLARED,
  set: DECLARED,
  ssh: NO_SHELL,
  taint: ['kubenode repair node/NAME --reason WHY', 'for a taint of Kubernetes: kubectl taint node NAME KEY:EFFECT'],
  top: ['kubenode watch', 'it follows rollouts; use of CPU and memory: kubectl top nodes'],
  uncordon: ['kubectl uncordon NAME', 'to lift a freeze: kubenode thaw node/NAME'],
  wait: WAIT,
  // Flux
  build: PLAN,
  export: ['kubenode get KIND/NAME -o yaml', ''],
  push: ['git push', 'sync reads commits; an image: kubenode image push'],
  stats: CLUSTERS,
  // Argo CD
  account: WHO,
  app: RELEASES,
  'app create': DECLARED,
  'app delete': UNDO,
  'app diff': PLAN,
  'app get': ['kubenode release status NAME', 'on the hub'],
  'app history': HISTORY,
  'app list': RELEASES,
  'app logs': ['kubenode logs machine/NAME COMPONENT', ''],
  'app manifests': ['kubenode get KIND/NAME -o yaml', ''],
  'app resources': ['kubenode tree release/NAME', 'on the hub'],
  'app rollback': UNDO,
  'app set': DECLARED,
  'app sync': READ_NOW,
  'app terminate-op': ['kubenode release abort NAME --reason WHY', 'on the hub'],
  'app wait': WAIT,
  'cluster add': ['kubenode install --dry-run', 'then register it: docs/how-to/new-cluster.md'],
  login: WHO,
  proj: ['kubenode get pipelines', 'on the hub'],
  'release cancel': ['kubenode release abort NAME --reason WHY', ''],
  'release get': ['kubenode release status NAME', ''],
  'release list': ['kubenode release history', 'or kubenode get releases'],
  'release pause': ['kubenode pause release/NAME --reason WHY', ''],
  'release resume': ['kubenode resume release/NAME', ''],
  'release rollback': UNDO,
  'release sync': READ_NOW,
  'release wait': ['kubenode watch release/NAME --until-done', ''],
  'release watch': ['kubenode watch release/NAME', ''],
  repo: SOURCES,
  status: ['kubenode release status', 'on the hub; a set: kubenode rollout status NAME'],
  sync: READ_NOW,
  // Terraform
  destroy: [
    'git revert COMMIT',
    'objects that git no longer declares are deleted; to take KubeNode off a cluster: kubenode uninstall',
  ],
  fmt: ['kubenode lint FOLDER', 'it checks and does not format'],
  'force-unlock': ['kubenode resume KIND/NAME', 'a freeze is lifted by kubenode thaw'],
  graph: ['kubenode tree set/NAME', ''],
  output: ['kubenode get KIND -o json', ''],
  providers: ['kubenode get machinesets', ''],
  refresh: READ_NOW,
  show: ONE,
  state: MACHINES,
  'state rm': ['kubenode import NODE --undo', 'for a node that is only observed'],
  'state show': ONE,
  test: ['kubenode rules test', 'it runs the cases of repair rules'],
  untaint: ['kubenode why-not node/NAME', 'it shows what blocks a repair and what lifts it'],
  validate: ['kubenode lint FOLDER', ''],
  workspace: CLUSTERS,
  // Ansible, and the names of objects
  all: MACHINES,
  doc: ['kubenode help COMMAND', 'pages: docs'],
  facts: ONE,
  host: MACHINES,
  hosts: MACHINES,
  'inventory list': MACHINES,
  list: MACHINES,
  'agent uninstall': LEAVE,
  join: JOIN,
  leave: LEAVE,
  'machine add': JOIN,
  'machine adopt': ['kubenode adopt NODE --dry-run', 'then without --dry-run'],
  'machine create': JOIN,
  'machine delete': LEAVE,
  'machine get': ['kubenode describe machine/NAME', ''],
  'machine import': ['kubenode import NODE', 'a Machine observes the Node; nothing on it changes'],
  'machine join': JOIN,
  'machine leave': LEAVE,
  'machine list': MACHINES,
  'machine remove': LEAVE,
  machines: MACHINES,
  node: ['kubenode get nodes', ''],
  nodes: ['kubenode get nodes', ''],
  ping: ['kubenode get machines', 'the column READY; what one waits for: kubenode why machine/NAME'],
  playbook: PLAN,
  reboot: REPAIR,
  restart: REPAIR,
  setup: ONE,
  shell: NO_SHELL,
  vault: ['kubectl create secret generic NAME', 'values of labeled Secrets are sealed for each machine'],
}

/** Objects of Flux that its hands suspend, resume and reconcile; here all of these are done to a source. */
export const FLUX_KINDS: ReadonlySet<string> = new Set([
  'gitrepository',
  'git',
  'helmrelease',
  'hr',
  'kustomization',
  'ks',
])

/** By a word that is no kind of KubeNode. */
export const KIND_HABITS: Readonly<Record<string, string>> = {
  all: 'kubenode get machines,sets',
  app: 'kubenode get releases',
  application: 'kubenode get releases',
  applications: 'kubenode get releases',
  apps: 'kubenode get releases',
  context: 'kubectl config get-contexts',
  contexts: 'kubectl config get-contexts',
  event: 'kubenode events',
  events: 'kubenode events',
  facts: 'kubenode describe machine/NAME',
  gitrepositories: 'kubenode get sources',
  gitrepository: 'kubenode get sources',
  helmrelease: 'kubenode get releases',
  helmreleases: 'kubenode get releases',
  host: 'kubenode get machines',
  hosts: 'kubenode get machines',
  inventory: 'kubenode get machines',
  kubeadmcontrolplane: 'kubenode get clusters',
  kustomization: 'kubenode get releases',
  kustomizations: 'kubenode get releases',
  ks: 'kubenode get releases',
  m: 'kubenode get machines',
  ma: 'kubenode get machines',
  machinedeployment: 'kubenode get machinesets',
  machinedeployments: 'kubenode get machinesets',
  md: 'kubenode get machinesets',
  ms: 'kubenode get machinesets',
  po: 'kubectl get pods',
  pod: 'kubectl get pods',
  pods: 'kubectl get pods',
  rollout: 'kubenode get sets',
  rollouts: 'kubenode get sets',
}
