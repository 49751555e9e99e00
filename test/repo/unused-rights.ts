// Rights of deploy/charts/roles.ts that no recorded test uses, with the reason. It only gets shorter: a right that a recording shows leaves it.
export interface UnusedRight {
  /** As the table writes it: `identity: verb resource.group …`. */
  readonly right: RegExp
  readonly reason: string
  /** The test that exercises it in a way that is not recorded; '' where there is none. */
  readonly test: string
}

/** What a fleet may declare, beside what the fleet of this repository does. */
const DECLARED =
  /^sync: (get|list|create|patch|update|delete) ((clusters|componentcanaries|defenderpolicies|fleetsources|inventories|machine\w*|noderemediers|releasepipelines)\.kubenode\.io|configmaps|namespaces|serviceaccounts|services|(daemonsets|deployments|statefulsets)\.apps|podtemplates in kubenode-acceptance)$/

export const UNUSED: readonly UnusedRight[] = [
  {
    right:
      /^controllers: (patch leases\.coordination\.k8s\.io in kubenode-system|get (componentconfigs|machinecomponents)\.kubenode\.io)$/,
    reason: 'for machines without an agent; the recorded tests have none',
    test: 'test/e2e/real/ssh-nodes.test.ts',
  },
  {
    right: /^controllers: (list resourceslices|(list|create|delete) devicetaintrules)\.resource\.k8s\.io$/,
    reason: 'no server of the recorded tests has rules for devices, and no driver publishes any',
    test: 'src/nodes/dra/dra.test.ts',
  },
  {
    right: /^controllers: ((get|create|delete) pods|get podtemplates) in kubenode-acceptance$/,
    reason: 'no recorded cluster has a kubelet that runs pods',
    test: 'test/attacks/acceptance-pods.test.ts',
  },
  {
    right: /^(sync|cluster): (get|create|patch|delete) secrets in kubenode-previews$/,
    reason: 'no recorded fleet has previews',
    test: 'test/integration/preview-identity.test.ts',
  },
  {
    right: /^controllers: get jobs\.batch$/,
    reason: 'read where a set lets pods ask for time, which no recorded fleet does',
    test: 'src/nodes/pod-waits.test.ts',
  },
  {
    right: /^defender: get configmaps named kubenode-service-levels in kubenode-system$/,
    reason: 'read while a policy has a rule about the budget of pools; the shipped one is switched off',
    test: 'src/defender/pool-budgets.test.ts',
  },
  {
    right:
      /^controllers: (list nodes\.metrics\.k8s\.io|get configmaps named kubenode-service-levels in kubenode-system)$/,
    reason: 'read while somebody scrapes, where the cluster serves it; the days of a month are read once a term',
    test: 'src/controllers/metrics/service-levels/service-levels.test.ts',
  },
  {
    right:
      /^controllers: ((get|create|update|delete) maintenanceevents|update maintenanceevents\/status)\.kubenode\.io$/,
    reason: 'no provider of the recorded tests announces work on its hosts',
    test: 'test/sim/hostdoctor/hostdoctor.test.ts',
  },
  {
    right:
      /^hosted-\w+: (create (tokenreviews|subjectaccessreviews)\.|(get|update) secrets named kubenode-metrics-hosted )/,
    reason: 'read while /metrics is served at the address of a pod, as for every role',
    test: 'test/integration/metrics-server.test.ts',
  },
  {
    right: /^history: /,
    reason: 'it follows the kinds that it records and writes nothing; no recorded test runs it',
    test: 'src/history/record/recorder.test.ts',
  },
  {
    right: /^controllers: patch nodes\/status$/,
    reason: 'conditions that the embedded server of the recorded tests does not know are not written',
    test: 'src/controllers/nodelifecycle/plan.test.ts',
  },
  {
    right: DECLARED,
    reason:
      'one piece of code reads, applies, puts back and prunes all kinds; the recorded fleet declares some of them',
    test: 'test/integration/sync.test.ts',
  },
  {
    right:
      /^system:serviceaccounts:kubenode-agents: ((create|patch) events\.events|(list|watch) remedyoperationjobs\.kubenode|get (remedyoperationjobs|componentconfigs|logrequests)\.kubenode|patch (remedyoperationjobs|logrequests)\/status\.kubenode|get configmaps in kubenode-system|get nodes)/,
    reason: 'the same agent with the same rights as one with a certificate, whose tests use them',
    test: 'test/attacks/agent-key.test.ts',
  },
  {
    right: /^sync: (delete releases|list remedyoperationjobs)\.kubenode\.io$/,
    reason: 'old Releases are many; repairs are read by pipelines that ask for them',
    test: 'test/integration/sync.test.ts',
  },
  {
    right: /^sync: (get|create|update) operationpermits\.kubenode\.io$/,
    reason: 'deletions beyond the guard are approved by a person; the recorded fleet has none',
    test: 'test/integration/mass-prune-permit.test.ts',
  },
  {
    right: /^controllers: delete logrequests\.kubenode\.io$/,
    reason: 'the command deletes its request; the controllers do so after a quarter of an hour, if it could not',
    test: 'src/controllers/log/plan.test.ts',
  },
  {
    right: /^controllers: update (machines|machinesets|machinecomponentsets|noderemediers)\/finalizers\.kubenode\.io$/,
    reason:
      'an admission plugin of kube-apiserver asks for it when an owner blocks deletion; the embedded server has none',
    test: '',
  },
  {
    right: /^(agents|approver|cluster|controllers|defender|sync): (create|patch) events\.events\.k8s\.io$/,
    reason: 'an event that repeats is patched, hours later; the approver reports what is rare',
    test: 'test/attacks/program-events.test.ts',
  },
  {
    right:
      /^agents: ((create|get) certificatesigningrequests\.certificates\.k8s\.io|get (machines|componentconfigs|remedyoperationjobs)\.kubenode\.io|get configmaps in kubenode-system)$/,
    reason:
      'an agent renews its certificate after days, reads its own Machine by name when it joins anew, and reads configs and secret values of components',
    test: 'test/integration/agent-renewal.test.ts',
  },
  {
    right:
      /^controllers: ((create|delete) componentconfigs\.kubenode\.io|(patch|delete) configmaps in kubenode-system)$/,
    reason: 'rendered configurations and sealed secret values: the recorded fleet has none',
    test: 'src/controllers/machines-secrets.test.ts',
  },
  {
    right:
      /^controllers: ((get|delete) controllerrevisions\.apps in kubenode-system|create pods in kubenode-probes|get componentcanaries\.kubenode\.io)$/,
    reason: 'old revisions, probes of a step and canaries: the recorded fleet has none',
    test: 'test/sim/rollout/rollout.test.ts',
  },
  {
    right: /^controllers: (delete pods|get daemonsets\.apps|list controllerrevisions\.apps)$/,
    reason: 'components that run as DaemonSets: the recorded fleet has none',
    test: '',
  },
  {
    right: /^controllers: (delete|update) remedyoperationjobs\.kubenode\.io$/,
    reason: 'old jobs are deleted after days, and superseded ones are rare',
    test: 'test/integration/remedy.test.ts',
  },
  {
    right: /^defender: (delete operationalholds|update operationalholds\/status)\.kubenode\.io$/,
    reason: 'a hold that expired is reported, and deleted a day later',
    test: 'src/defender/ended-holds.test.ts',
  },
  {
    right:
      /^defender: (delete operationpermits\.kubenode\.io|get (clusters|operationpermits)\.kubenode\.io|get (nodes|customresourcedefinitions\.apiextensions\.k8s\.io)|get leases\.coordination\.k8s\.io in kube-node-lease)$/,
    reason:
      'old permits are deleted after days; an object is read again when its cache lost it, or its heartbeat stopped',
    test: 'test/integration/defender-webhook.test.ts',
  },
  {
    right:
      /^cluster: (bind clusterroles\.rbac\.authorization\.k8s\.io named kubenode:control-planes|create rolebindings\.rbac\.authorization\.k8s\.io|(get|list|create|update|delete) namespaces|list (nodes|pods)|(list|watch) approvals\.kubenode\.io)$/,
    reason: 'control planes as workloads of the hub: they run only where real programs of Kubernetes are',
    test: 'test/e2e/real/kubernetes-host.full.test.ts',
  },
]
