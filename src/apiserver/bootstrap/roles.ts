// The roles and bindings that clients of Kubernetes expect in any cluster.
import type { PolicyRule } from '../auth/authorizer.ts'
import { MASTERS } from '../auth/user.ts'

export interface BootstrapRole {
  readonly name: string
  readonly rules: readonly PolicyRule[]
  readonly labels?: { readonly [key: string]: string }
  /** Its rules are those of the roles with this label; the rules here are their initial sum. */
  readonly gathers?: string
}

export interface BootstrapBinding {
  readonly name: string
  readonly role: string
  readonly groups?: readonly string[]
  readonly users?: readonly string[]
}

const READ = ['get', 'list', 'watch']
const WRITE = ['create', 'delete', 'deletecollection', 'patch', 'update']
const rule = (apiGroups: readonly string[], resources: readonly string[], verbs: readonly string[]): PolicyRule => ({
  apiGroups,
  resources,
  verbs,
})

const CORE_VIEW = [
  'configmaps',
  'endpoints',
  'persistentvolumeclaims',
  'persistentvolumeclaims/status',
  'pods',
  'replicationcontrollers',
  'replicationcontrollers/scale',
  'serviceaccounts',
  'services',
  'services/status',
]
const CORE_STATUS = [
  'bindings',
  'events',
  'limitranges',
  'namespaces/status',
  'pods/log',
  'pods/status',
  'replicationcontrollers/status',
  'resourcequotas',
  'resourcequotas/status',
  'namespaces',
]
const APPS = [
  'controllerrevisions',
  'daemonsets',
  'daemonsets/status',
  'deployments',
  'deployments/scale',
  'deployments/status',
  'replicasets',
  'replicasets/scale',
  'replicasets/status',
  'statefulsets',
  'statefulsets/scale',
  'statefulsets/status',
]
const BATCH = ['cronjobs', 'cronjobs/status', 'jobs', 'jobs/status']
const BUDGETS = ['poddisruptionbudgets', 'poddisruptionbudgets/status']

const view: readonly PolicyRule[] = [
  rule([''], CORE_VIEW, READ),
  rule([''], CORE_STATUS, READ),
  rule(['discovery.k8s.io'], ['endpointslices'], READ),
  rule(['apps'], APPS, READ),
  rule(['batch'], BATCH, READ),
  rule(['policy'], BUDGETS, READ),
  rule(['events.k8s.io'], ['events'], READ),
  rule(['autoscaling'], ['horizontalpodautoscalers', 'horizontalpodautoscalers/status'], READ),
  rule(['networking.k8s.io'], ['ingresses', 'ingresses/status', 'networkpolicies'], READ),
  rule(['resource.k8s.io'], ['resourceclaims', 'resourceclaims/status', 'resourceclaimtemplates'], READ),
]
const edit: readonly PolicyRule[] = [
  rule([''], ['pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy', 'secrets', 'services/proxy'], READ),
  rule([''], ['serviceaccounts'], ['impersonate']),
  rule([''], ['pods', 'pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy'], WRITE),
  rule([''], ['pods/eviction'], ['create']),
  rule(
    [''],
    [
      'configmaps',
      'events',
      'persistentvolumeclaims',
      'replicationcontrollers',
      'replicationcontrollers/scale',
      'secrets',
      'serviceaccounts',
      'services',
      'services/proxy',
    ],
    WRITE,
  ),
  rule([''], ['serviceaccounts/token'], ['create']),
  rule(
    ['apps'],
    [
      'daemonsets',
      'deployments',
      'deployments/rollback',
      'deployments/scale',
      'replicasets',
      'replicasets/scale',
      'statefulsets',
      'statefulsets/scale',
    ],
    WRITE,
  ),
  rule(['batch'], ['cronjobs', 'jobs'], WRITE),
  rule(['policy'], ['poddisruptionbudgets'], WRITE),
  rule(['events.k8s.io'], ['events'], WRITE),
  rule(['autoscaling'], ['horizontalpodautoscalers'], WRITE),
  rule(['networking.k8s.io'], ['ingresses', 'networkpolicies'], WRITE),
  rule(['resource.k8s.io'], ['resourceclaims', 'resourceclaimtemplates'], WRITE),
  rule(['coordination.k8s.io'], ['leases'], [...WRITE, ...READ]),
]
const admin: readonly PolicyRule[] = [
  rule(['authorization.k8s.io'], ['localsubjectaccessreviews'], ['create']),
  rule(['rbac.authorization.k8s.io'], ['rolebindings', 'roles'], [...WRITE, ...READ]),
]
export const nodeRules: readonly PolicyRule[] = [
  rule(['authentication.k8s.io'], ['tokenreviews'], ['create']),
  rule(['authorization.k8s.io'], ['localsubjectaccessreviews', 'subjectaccessreviews'], ['create']),
  rule([''], ['services'], READ),
  rule([''], ['nodes'], ['create', ...READ, 'patch', 'update']),
  rule([''], ['nodes/status'], ['patch', 'update']),
  rule(['', 'events.k8s.io'], ['events'], ['create', 'patch', 'update']),
  rule([''], ['endpoints'], ['get']),
  rule([''], ['pods'], ['create', 'delete', ...READ]),
  rule([''], ['pods/status'], ['patch', 'update']),
  rule([''], ['pods/eviction'], ['create']),
  rule([''], ['configmaps', 'secrets'], READ),
  rule([''], ['serviceaccounts'], ['get']),
  rule([''], ['serviceaccounts/token'], ['create']),
  rule(['certificates.k8s.io'], ['certificatesigningrequests'], ['create', ...READ]),
  rule(['coordination.k8s.io'], ['leases'], ['create', 'delete', 'get', 'patch', 'update']),
  rule([''], ['persistentvolumeclaims', 'persistentvolumes'], ['get']),
  rule([''], ['persistentvolumeclaims/status'], ['get', 'patch', 'update']),
  rule(['storage.k8s.io'], ['volumeattachments'], ['get']),
  rule(['storage.k8s.io'], ['csidrivers'], READ),
  rule(['storage.k8s.io'], ['csinodes'], ['create', 'delete', 'get', 'patch', 'update']),
  rule(['node.k8s.io'], ['runtimeclasses'], READ),
  rule(['resource.k8s.io'], ['resourceclaims'], ['get']),
  rule(['resource.k8s.io'], ['resourceslices'], [...WRITE, ...READ]),
]
const csr = (sub: string): readonly PolicyRule[] => [
  rule(['certificates.k8s.io'], [`certificatesigningrequests/${sub}`], ['create']),
]
const DISCOVERY = [
  '/api',
  '/api/*',
  '/apis',
  '/apis/*',
  '/healthz',
  '/livez',
  '/openapi',
  '/openapi/*',
  '/readyz',
  '/version',
  '/version/',
]
const PUBLIC = ['/healthz', '/livez', '/readyz', '/version', '/version/']
const paths = (nonResourceURLs: readonly string[]): PolicyRule => ({ nonResourceURLs, verbs: ['get'] })

const aggregateTo = (role: string): string => `rbac.authorization.k8s.io/aggregate-to-${role}`
const [TO_ADMIN, TO_EDIT, TO_VIEW] = [aggregateTo('admin'), aggregateTo('edit'), aggregateTo('view')]
const SIGNERS = ['kube-apiserver-client', 'kube-apiserver-client-kubelet', 'kubelet-serving', 'legacy-unknown'] as const
const KUBELET_PATHS = ['configz', 'healthz', 'log', 'metrics', 'pods', 'proxy', 'stats'].map((p) => `nodes/${p}`)

export const bootstrapRoles: readonly BootstrapRole[] = [
  {
    name: 'cluster-admin',
    rules: [
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      { nonResourceURLs: ['*'], verbs: ['*'] },
    ],
  },
  { name: 'admin', rules: [...admin, ...edit, ...view], gathers: TO_ADMIN },
  { name: 'edit', rules: [...edit, ...view], gathers: TO_EDIT, labels: { [TO_ADMIN]: 'true' } },
  { name: 'view', rules: view, gathers: TO_VIEW, labels: { [TO_EDIT]: 'true' } },
  { name: 'system:aggregate-to-admin', rules: admin, labels: { [TO_ADMIN]: 'true' } },
  { name: 'system:aggregate-to-edit', rules: edit, labels: { [TO_EDIT]: 'true' } },
  { name: 'system:aggregate-to-view', rules: view, labels: { [TO_VIEW]: 'true' } },
  {
    name: 'system:node-problem-detector',
    rules: [
      rule([''], ['nodes'], ['get']),
      rule([''], ['nodes/status'], ['patch']),
      rule(['', 'events.k8s.io'], ['events'], ['create', 'patch', 'update']),
    ],
  },
  {
    name: 'system:monitoring',
    rules: [
      paths(['/healthz', '/healthz/*', '/livez', '/livez/*', '/metrics', '/metrics/slis', '/readyz', '/readyz/*']),
      rule([''], ['nodes/metrics'], ['get']),
    ],
  },
  {
    name: 'system:kubelet-api-admin',
    rules: [rule([''], ['nodes'], [...READ, 'proxy']), rule([''], KUBELET_PATHS, ['*'])],
  },
  {
    name: 'system:persistent-volume-provisioner',
    rules: [
      rule([''], ['persistentvolumes'], ['create', 'delete', ...READ]),
      rule([''], ['persistentvolumeclaims'], [...READ, 'update']),
      rule(['storage.k8s.io'], ['storageclasses'], READ),
      rule([''], ['events'], ['watch']),
      rule(['', 'events.k8s.io'], ['events'], ['create', 'patch', 'update']),
    ],
  },
  {
    name: 'system:volume-scheduler',
    rules: [
      rule([''], ['persistentvolumes', 'persistentvolumeclaims'], [...READ, 'patch', 'update']),
      rule(['storage.k8s.io'], ['storageclasses'], READ),
    ],
  },
  ...SIGNERS.map((signer): BootstrapRole => ({
    name: `system:certificates.k8s.io:${signer}-approver`,
    rules: [{ ...rule(['certificates.k8s.io'], ['signers'], ['approve']), resourceNames: [`kubernetes.io/${signer}`] }],
  })),
  { name: 'system:discovery', rules: [paths(DISCOVERY)] },
  { name: 'system:public-info-viewer', rules: [paths(PUBLIC)] },
  {
    name: 'system:basic-user',
    rules: [
      rule(['authorization.k8s.io'], ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'], ['create']),
      rule(['authentication.k8s.io'], ['selfsubjectreviews'], ['create']),
    ],
  },
  { name: 'system:node', rules: nodeRules },
  {
    name: 'system:node-bootstrapper',
    rules: [rule(['certificates.k8s.io'], ['certificatesigningrequests'], ['create', ...READ])],
  },
  {
    name: 'system:node-proxier',
    rules: [
      rule([''], ['endpoints', 'services'], ['list', 'watch']),
      rule([''], ['nodes'], READ),
      rule(['', 'events.k8s.io'], ['events'], ['create', 'patch', 'update']),
      rule(['discovery.k8s.io'], ['endpointslices'], ['list', 'watch']),
      rule(['networking.k8s.io'], ['servicecidrs'], ['list', 'watch']),
    ],
  },
  {
    name: 'system:auth-delegator',
    rules: [
      rule(['authentication.k8s.io'], ['tokenreviews'], ['create']),
      rule(['authorization.k8s.io'], ['subjectaccessreviews'], ['create']),
    ],
  },
  { name: 'system:certificates.k8s.io:certificatesigningrequests:nodeclient', rules: csr('nodeclient') },
  { name: 'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient', rules: csr('selfnodeclient') },
  {
    name: 'system:service-account-issuer-discovery',
    rules: [
      paths([
        '/.well-known/openid-configuration',
        '/.well-known/openid-configuration/',
        '/openid/v1/jwks',
        '/openid/v1/jwks/',
      ]),
    ],
  },
  {
    name: 'system:kube-controller-manager',
    rules: [
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      { nonResourceURLs: ['*'], verbs: ['*'] },
    ],
  },
  {
    name: 'system:kube-scheduler',
    rules: [
      rule(['*'], ['*'], READ),
      rule([''], ['bindings', 'pods/binding', 'events'], ['create', 'patch', 'update']),
      rule([''], ['pods/status'], ['patch', 'update']),
      rule([''], ['pods'], ['delete']),
      rule([''], ['persistentvolumeclaims', 'persistentvolumes'], ['patch', 'update']),
      rule(['resource.k8s.io'], ['resourceclaims', 'resourceclaims/status'], ['patch', 'update']),
      rule(['events.k8s.io'], ['events'], ['create', 'patch', 'update']),
      rule(['coordination.k8s.io'], ['leases'], ['create', 'get', 'update', 'list', 'watch']),
      rule(['authentication.k8s.io'], ['tokenreviews'], ['create']),
      rule(['authorization.k8s.io'], ['subjectaccessreviews'], ['create']),
    ],
  },
]

const AUTHENTICATED = 'system:authenticated'

export const bootstrapBindings: readonly BootstrapBinding[] = [
  { name: 'cluster-admin', role: 'cluster-admin', groups: [MASTERS] },
  { name: 'system:discovery', role: 'system:discovery', groups: [AUTHENTICATED] },
  {
    name: 'system:public-info-viewer',
    role: 'system:public-info-viewer',
    groups: [AUTHENTICATED, 'system:unauthenticated'],
  },
  { name: 'system:basic-user', role: 'system:basic-user', groups: [AUTHENTICATED] },
  {
    name: 'system:service-account-issuer-discovery',
    role: 'system:service-account-issuer-discovery',
    groups: ['system:serviceaccounts'],
  },
  // not bound to any subject, as on a real server: the node authorizer decides what nodes may do
  { name: 'system:node', role: 'system:node' },
  { name: 'system:node-proxier', role: 'system:node-proxier', users: ['system:kube-proxy'] },
  {
    name: 'system:kube-controller-manager',
    role: 'system:kube-controller-manager',
    users: ['system:kube-controller-manager'],
  },
  { name: 'system:kube-scheduler', role: 'system:kube-scheduler', users: ['system:kube-scheduler'] },
  { name: 'system:volume-scheduler', role: 'system:volume-scheduler', users: ['system:kube-scheduler'] },
  { name: 'system:monitoring', role: 'system:monitoring', groups: ['system:monitoring'] },
]
