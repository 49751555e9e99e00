// The attacker has the key of one KubeNode program: what it cannot read, write and become. docs/operations/security.md has the table.
import type { KubeObject } from '#api/schema/object.ts'
import { join } from 'node:path'
import {
  AGENTS_GROUP,
  agentNodeGroup,
  agentUser,
  ANNOTATIONS,
  BOOTSTRAP_GROUP,
  CLUSTERS_NAMESPACE,
  FIELD_MANAGERS,
  JOIN_NAMESPACE,
  LABELS,
  machineUidGroup,
  PROBES_NAMESPACE,
  ACCEPTANCE_NAMESPACE,
  SYSTEM_NAMESPACE,
  WEBHOOK_NAMESPACE,
} from '#api/names.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { typeOf } from '#kube/installed-type.ts'
import { manifestsIn } from '#delivery/release-manifests.ts'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'
import { type Attempt, type AttackWorld, type Identities, tryOnServers } from '#test/support/worlds/attack-world.ts'

const OURS = '/apis/kubenode.io/v1alpha1'
const inSystem = (resource: string) => `/api/v1/namespaces/${SYSTEM_NAMESPACE}/${resource}`

const by =
  (thief: keyof Identities, method: string, path: string, body?: unknown) =>
  ({ ask, who }: AttackWorld) =>
    ask(who[thief], method, path, body === undefined ? {} : { body })

const ledger = { apiVersion: 'kubenode.io/v1alpha1', kind: 'DefenderLedger', metadata: { name: 'cluster' } }

const pod = (name: string, spec: object) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  // As the labels of kubenode-probes demand.
  spec: {
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      { name: 'a', image: 'a', securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } },
    ],
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    ...spec,
  },
})
const PROBES = `/api/v1/namespaces/${PROBES_NAMESPACE}/pods`

const secret = (name: string, type: string, account = 'kubenode-defender') => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, annotations: { 'kubernetes.io/service-account.name': account } },
  type,
})
const TOKEN = 'kubernetes.io/service-account-token'

const daemonSet = (name: string, spec: object) => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'a', image: 'a' }], ...spec } },
  },
})
const daemonSets = (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/daemonsets`
const podTemplate = (name: string) => ({
  apiVersion: 'v1',
  kind: 'PodTemplate',
  metadata: { name },
  template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'a', image: 'a' }] } },
})
const POD_TEMPLATES = `/api/v1/namespaces/${ACCEPTANCE_NAMESPACE}/podtemplates`

/** What the installer of a cluster does to allow one object of git. */
async function list(
  { admin }: AttackWorld,
  namespace: string,
  resource: string,
  name: string,
  verb = 'declare',
): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const metadata = { name: `git:${verb}:${resource.replaceAll('/', ':')}:${name}`, namespace }
  const post = (plural: string, body: object) =>
    admin.raw({ method: 'POST', path: `/apis/${apiVersion}/namespaces/${namespace}/${plural}`, body })
  const rules = [{ apiGroups: ['kubenode.io'], resources: [resource], resourceNames: [name], verbs: [verb] }]
  await post('roles', { apiVersion, kind: 'Role', metadata, rules })
  const subjects = [{ kind: 'User', name: 'kubenode:sync', apiGroup: 'rbac.authorization.k8s.io' }]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name }
  await post('rolebindings', { apiVersion, kind: 'RoleBinding', metadata, subjects, roleRef })
  const [plural, subresource = ''] = resource.split('/')
  await untilAllowed(admin, 'kubenode:sync', {
    namespace,
    verb,
    group: 'kubenode.io',
    resource: plural,
    subresource,
    name,
  })
}

/** A real server takes up roles and bindings a moment after they were written. */
const untilAllowed = (admin: AttackWorld['admin'], user: string, resourceAttributes: object): Promise<unknown> =>
  eventually(
    () =>
      admin.raw({
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        body: {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          spec: { user, resourceAttributes },
        },
      }),
    ({ text }) => (JSON.parse(text) as { readonly status?: { readonly allowed?: boolean } }).status?.allowed === true,
  )

const withContainer = (more: object) => ({ containers: [{ name: 'a', image: 'a', ...more }] })
const volume = (source: object) => ({ volumes: [{ name: 'v', ...source }] })
const security = (securityContext: object) => withContainer({ securityContext })

const POWERS: readonly (readonly [what: string, pod: object])[] = [
  ['a flexVolume', volume({ flexVolume: { driver: 'kubernetes.io~evil/root' } })],
  ['a CSI volume', volume({ csi: { driver: 'secrets-store.csi.k8s.io', nodePublishSecretRef: { name: 'tls' } } })],
  ['a volume of another server', volume({ nfs: { server: '10.0.0.1', path: '/' } })],
  ['a port of the node', withContainer({ ports: [{ containerPort: 80, hostPort: 443 }] })],
  // With what makes them valid: a server refuses others before it asks a policy.
  ['an unmasked /proc', { ...security({ procMount: 'Unmasked' }), hostUsers: false }],
  ['a process of the host on Windows', { ...security({ windowsOptions: { hostProcess: true } }), hostNetwork: true }],
  ['no seccomp', security({ seccompProfile: { type: 'Unconfined' } })],
  ['an SELinux type', security({ seLinuxOptions: { type: 'spc_t' } })],
  ['the network of the node', { hostNetwork: true }],
  ['the processes of the node', { hostPID: true }],
  ['the memory of the node', { hostIPC: true }],
  ['privileges', security({ privileged: true })],
  [
    'privileges in a first container',
    { initContainers: [{ name: 'b', image: 'b', securityContext: { privileged: true } }] },
  ],
  ['a capability', security({ capabilities: { add: ['NET_RAW'] } })],
  ['settings of the kernel', { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }],
  ['a class that evicts all others', { priorityClassName: 'system-node-critical' }],
  ['a class of somebody that evicts others', { priorityClassName: 'high' }],
  ['a runtime of its choice', { runtimeClassName: 'kata' }],
  [
    'a token for another audience',
    volume({ projected: { sources: [{ serviceAccountToken: { audience: 'sts.amazonaws.com', path: 't' } }] } }),
  ],
  ['a node of its choice', { nodeName: 'n-a' }],
  [
    'a check that asks the node itself',
    withContainer({ livenessProbe: { httpGet: { port: 10255, host: '127.0.0.1' } } }),
  ],
]
const SECRET_USES: readonly (readonly [how: string, pod: object])[] = [
  ['a volume', volume({ secret: { secretName: 'tls' } })],
  [
    'a projected volume',
    volume({ projected: { sources: [{ configMap: { name: 'a' } }, { secret: { name: 'tls' } }] } }),
  ],
  ['its environment', withContainer({ envFrom: [{ secretRef: { name: 'tls' } }] })],
  ['one variable', withContainer({ env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'tls', key: 'a' } } }] })],
  ['the key of a registry', { imagePullSecrets: [{ name: 'tls' }] }],
]
const service = (name: string, spec: object) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { ports: [{ port: 443 }], selector: { app: 'a' }, ...spec },
})
const services = (namespace: string) => `/api/v1/namespaces/${namespace}/services`
const accountNamed = (name: string, more: object) => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name },
  ...more,
})
const ACCOUNTS = '/api/v1/namespaces/shop/serviceaccounts'
const LABELED = { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } } }
const SOME_STORAGE = { requests: { storage: '1Gi' } }
/** Everything that a workload of git has without a list. */
const ORDINARY = {
  hostNetwork: false,
  securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  initContainers: [{ name: 'b', image: 'b' }],
  containers: [
    {
      name: 'a',
      image: 'a',
      ports: [{ containerPort: 80, protocol: 'TCP' }],
      env: [{ name: 'A', value: 'a' }],
      livenessProbe: { httpGet: { port: 80 } },
      securityContext: { privileged: false, capabilities: { drop: ['ALL'] } },
      volumeMounts: [{ name: 'settings', mountPath: '/a' }],
    },
  ],
  volumes: [
    { name: 'settings', configMap: { name: 'a' } },
    { name: 'scratch', emptyDir: {} },
    { name: 'data', persistentVolumeClaim: { claimName: 'a' } },
    {
      name: 'copy',
      ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: SOME_STORAGE } } },
    },
  ],
}

/** What Multus, CDI, CRI-O, NRI and Kata act on, and what is not known to be harmless. */
const ACTED_ON = [
  'k8s.v1.cni.cncf.io/networks',
  'cdi.k8s.io/gpu',
  'io.kubernetes.cri-o.Devices',
  'devices.nri.io/container.a',
  'io.katacontainers.config.hypervisor.path',
  'example.org/anything',
]
const annotated = (name: string, annotations: Readonly<Record<string, string>>) => {
  const { spec, ...more } = daemonSet(name, {})
  const metadata = { ...spec.template.metadata, annotations }
  return { ...more, spec: { ...spec, template: { ...spec.template, metadata } } }
}

const WORKLOADS: readonly Attempt[] = [
  ...ACTED_ON.map((annotation, n): Attempt => ({
    name: `S25 the key of sync runs a DaemonSet with annotation ${annotation}`,
    attempt: by('sync', 'POST', daemonSets('shop'), annotated(`a-${n}`, { [annotation]: 'a' })),
    control: by('sync', 'POST', daemonSets('shop'), annotated(`b-${n}`, { 'prometheus.io/scrape': 'true' })),
    refused: /has the power of its node/,
  })),
  {
    name: 'S25 the key of sync changes an annotation that another program wrote on a workload of git; a workload that has it stays deliverable',
    attempt: async (world) => {
      const path = `${daemonSets('shop')}/reloaded`
      const template = (value: string) => ({
        spec: { template: { metadata: { annotations: { 'reloader.example.org/at': value } } } },
      })
      await by('sync', 'POST', daemonSets('shop'), daemonSet('reloaded', {}))(world)
      await by('installer', 'PATCH', path, template('1'))(world)
      return by('sync', 'PATCH', path, template('2'))(world)
    },
    control: by('sync', 'PATCH', `${daemonSets('shop')}/reloaded`, { metadata: { labels: { a: 'b' } } }),
    refused: /has the power of its node/,
  },
  {
    name: 'S25 the key of sync runs more Secrets than are asked about',
    attempt: by(
      'sync',
      'POST',
      daemonSets('shop'),
      daemonSet('many', { imagePullSecrets: Array.from({ length: 13 }, (_, n) => ({ name: `s-${n}` })) }),
    ),
    control: by('sync', 'POST', daemonSets('shop'), daemonSet('ordinary', ORDINARY)),
    refused: /a Secret that the installer did not list|at most 12 Secrets/,
  },
  ...POWERS.map(([what, pod], n): Attempt => ({
    name: `S25 the key of sync runs a DaemonSet with ${what}`,
    attempt: by('sync', 'POST', daemonSets('shop'), daemonSet(`p-${n}`, pod)),
    refused: /has the power of its node, and is not on the list of the installer/,
  })),
  {
    name: 'S25 the key of sync uses the power of a node where only the object is listed',
    attempt: async (world) => {
      await list(world, 'kube-system', 'daemonsets', 'plain')
      return by('sync', 'POST', daemonSets('kube-system'), daemonSet('plain', { hostPID: true }))(world)
    },
    control: by('sync', 'POST', daemonSets('kube-system'), daemonSet('plain', {})),
    refused: /has the power of its node/,
  },
  {
    name: 'S25 the key of sync gives a workload that runs the power of its node',
    attempt: async (world) => {
      const { status, text } = await by('sync', 'POST', daemonSets('shop'), daemonSet('grows', {}))(world)
      if (status !== 201) throw new Error(`an ordinary workload is refused: ${text}`)
      return by('sync', 'PATCH', `${daemonSets('shop')}/grows`, { spec: { template: { spec: { hostPID: true } } } })(
        world,
      )
    },
    refused: /has the power of its node/,
  },
  ...SECRET_USES.map(([how, pod], n): Attempt => ({
    name: `S25 the key of sync reads a Secret of a tenant by ${how} of a workload`,
    attempt: by('sync', 'POST', daemonSets('shop'), daemonSet(`s-${n}`, pod)),
    refused: /a Secret that the installer did not list in its namespace/,
  })),
  {
    name: 'S25 the key of sync reads another Secret than the listed ones',
    attempt: async (world) => {
      await list(world, 'shop', 'secrets', 'own')
      await list(world, 'shop', 'secrets', 'own-too')
      const more = { envFrom: ['own', 'own', 'own-too', 'tls'].map((name) => ({ secretRef: { name } })) }
      return by('sync', 'POST', daemonSets('shop'), daemonSet('mixed', withContainer(more)))(world)
    },
    control: by(
      'sync',
      'POST',
      daemonSets('shop'),
      daemonSet(
        'mixed',
        withContainer({ envFrom: ['own', 'own', 'own-too'].map((name) => ({ secretRef: { name } })) }),
      ),
    ),
    refused: /a Secret that the installer did not list in its namespace/,
  },
  {
    name: 'S25 the key of sync reads the Secret of a namespace that lists one of that name in another',
    attempt: by('sync', 'POST', daemonSets('default'), daemonSet('else', volume({ secret: { secretName: 'own' } }))),
    refused: /a Secret that the installer did not list in its namespace/,
  },
  {
    name: 'S25 the key of sync makes the claim of a StatefulSet take a volume of others',
    attempt: by('sync', 'POST', '/apis/apps/v1/namespaces/shop/statefulsets', {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'takes' },
      spec: {
        selector: { matchLabels: { app: 'a' } },
        serviceName: 'a',
        template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'a', image: 'a' }] } },
        volumeClaimTemplates: [
          {
            metadata: { name: 'v' },
            spec: { accessModes: ['ReadWriteOnce'], volumeName: 'of-others', resources: SOME_STORAGE },
          },
        ],
      },
    }),
    refused: /has the power of its node/,
  },
  {
    name: 'S25 the key of sync takes over addresses of others',
    attempt: by('sync', 'POST', services('shop'), service('takes', { externalIPs: ['10.0.0.1'] })),
    control: by('sync', 'POST', services('shop'), service('opens', { type: 'LoadBalancer' })),
    refused: /has the power of its node/,
  },
  {
    name: 'S25 the key of sync opens a system namespace to the outside',
    attempt: async (world) => {
      await list(world, 'kube-system', 'services', 'dns')
      return by('sync', 'POST', services('kube-system'), service('dns', { type: 'LoadBalancer' }))(world)
    },
    control: by('sync', 'POST', services('kube-system'), service('dns', {})),
    refused: /has the power of its node/,
  },
  {
    name: 'S25 the key of sync answers in the place of the API server',
    attempt: by('sync', 'PATCH', `${services('default')}/kubernetes`, { spec: { selector: { app: 'mine' } } }),
    refused: /is not on the list of the installer|404/,
  },
  {
    name: 'S25 the key of sync makes itself the address of the API server',
    attempt: by('sync', 'POST', services('default'), service('kubernetes', {})),
    control: by('sync', 'POST', services('default'), service('kubernetes-too', {})),
    refused: /is not on the list of the installer/,
  },
  ...(['endpoints', 'endpointslices'] as const).map((plural): Attempt => ({
    name: `S25 the key of sync writes ${plural} of Service default/kubernetes`,
    attempt: by(
      'sync',
      'PATCH',
      `${plural === 'endpoints' ? '/api/v1' : '/apis/discovery.k8s.io/v1'}/namespaces/default/${plural}/kubernetes`,
      { metadata: { labels: { a: 'b' } } },
    ),
    refused: 403,
  })),
  {
    name: 'S25 the key of sync says whom pods trust',
    attempt: by('sync', 'POST', '/api/v1/namespaces/shop/configmaps?dryRun=All', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kube-root-ca.crt' },
      data: { 'ca.crt': 'mine' },
    }),
    refused: /is not on the list of the installer|409/,
  },
  ...['default', 'kube-system', 'kube-public', SYSTEM_NAMESPACE].map((name): Attempt => ({
    name: `S25 the key of sync lifts what holds the pods of namespace ${name}`,
    attempt: by('sync', 'PATCH', `/api/v1/namespaces/${name}`, LABELED),
    refused: /a commit declares no namespace/,
  })),
  {
    name: 'S25 the key of sync gives an account an identity of the cloud',
    attempt: by('sync', 'PATCH', `${ACCOUNTS}/till`, {
      metadata: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/admin' } },
    }),
    control: by('sync', 'POST', ACCOUNTS, accountNamed('counter', { automountServiceAccountToken: false })),
    refused: /is not on the list of the installer/,
  },
  ...['secrets', 'imagePullSecrets'].map((field): Attempt => ({
    name: `S25 the key of sync gives an account a Secret of a tenant by ${field}`,
    attempt: by('sync', 'PATCH', `${ACCOUNTS}/till`, { [field]: [{ name: 'tls' }] }),
    refused: /a Secret that the installer did not list in its namespace/,
  })),
]

/** Each kind of Secret is read by those that need it: a thief of another key becomes none of them. */
const READERS: Readonly<Record<string, readonly (keyof Identities)[]>> = {
  [`${CLUSTERS_NAMESPACE}/cluster-prod`]: ['sync'],
  [`${WEBHOOK_NAMESPACE}/kubenode-webhook-tls`]: ['defender'],
  [`${JOIN_NAMESPACE}/join-uid`]: ['approver', 'controllers'],
  [`${SYSTEM_NAMESPACE}/of-a-component`]: ['controllers'],
  'kube-system/bootstrap-token-aaaaaa': ['approver'],
  'shop/tls': [],
}
const PROGRAM_NAMES = ['sync', 'controllers', 'approver', 'defender'] as const
const secretAt = (path: string): string => `/api/v1/namespaces/${path.replace('/', '/secrets/')}`
const onHub = async ({ admin }: AttackWorld): Promise<void> => {
  for (const object of manifestsIn(join(import.meta.dirname, '../../deploy/hub')))
    await admin.apply(typeOf(object), object, { fieldManager: 'test', force: true })
}

/** After all others: from here on the cluster is a hub too. */
const UNLIKE_SECRETS: readonly Attempt[] = [
  ...Object.entries(READERS).flatMap(([path, readers]) =>
    PROGRAM_NAMES.filter((name) => !readers.includes(name)).map((thief): Attempt => ({
      name: `S25 the key of ${thief} on the hub reads Secret ${path}`,
      attempt: async (world) => {
        await onHub(world)
        return by(thief, 'GET', secretAt(path))(world)
      },
      refused: 403,
      afterwards: async (world) => {
        for (const reader of readers) {
          const { status, text } = await by(reader, 'GET', secretAt(path))(world)
          if (status !== 200 && status !== 404) throw new Error(`${reader} cannot read ${path}: ${text}`)
        }
      },
    })),
  ),
  ...[CLUSTERS_NAMESPACE, WEBHOOK_NAMESPACE, JOIN_NAMESPACE].flatMap((namespace) =>
    PROGRAM_NAMES.map((thief): Attempt => ({
      name: `S25 the key of ${thief} lists the Secrets of ${namespace}`,
      attempt: by(thief, 'GET', `/api/v1/namespaces/${namespace}/secrets`),
      refused: 403,
    })),
  ),
  ...['', '/status'].map((sub): Attempt => ({
    name: `S25 the key of controllers points a Cluster${sub} at the kubeconfig of another member`,
    attempt: by('controllers', 'PATCH', `${OURS}/namespaces/${SYSTEM_NAMESPACE}/clusters/test${sub}`, {
      spec: { kubeconfigSecretRef: { name: 'cluster-prod' } },
      status: { kubeconfigSecret: { name: 'cluster-prod' } },
    }),
    refused: 403,
  })),
  {
    name: 'S25 the key of controllers writes the kubeconfig of a member',
    attempt: by('controllers', 'POST', `/api/v1/namespaces/${CLUSTERS_NAMESPACE}/secrets`, secret('mine', 'Opaque')),
    refused: 403,
  },
  {
    name: 'S25 the key of controllers changes a Secret that people gave to components',
    attempt: async (world) => {
      await world.admin.raw({ method: 'POST', path: inSystem('secrets'), body: secret('given', 'Opaque') })
      return by('controllers', 'PATCH', inSystem('secrets/given'), { metadata: { labels: { a: 'b' } } })(world)
    },
    control: by('controllers', 'GET', inSystem('secrets/given')),
    refused: 403,
  },
]

const joinToken = (name: string, group = BOOTSTRAP_GROUP) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, labels: { [LABELS.joinToken]: 'true' } },
  type: 'bootstrap.kubernetes.io/token',
  data: { 'auth-extra-groups': Buffer.from(group).toString('base64') },
})

const lease = (holderIdentity: string, leaseDurationSeconds = 15, name = 'kubenode-defender') => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name },
  spec: { holderIdentity, leaseDurationSeconds },
})
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases`
const leads = by('defender', 'POST', LEASES, lease('defender'))

const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
/** Of an identity that is worth having; `key` is its name. */
async function certificateRequest() {
  const pem = await signingRequest(await newPrivateKey(), { commonName: 'kubenode:defender' })
  const approval = { type: 'Approved', status: 'True', reason: 'Mine', message: 'mine' }
  return {
    key: 'mine',
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'mine' },
    spec: {
      request: Buffer.from(pem).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth'],
    },
    status: { conditions: [approval] },
  }
}

const HOUR_SECONDS = 3_600
const AN_AGENT = {
  commonName: agentUser('m-a'),
  organizations: [AGENTS_GROUP, agentNodeGroup('n-a'), machineUidGroup('u')],
}

const A_KUBELET = { commonName: 'system:node:n-a', organizations: ['system:nodes'] }
const KUBELET_SIGNERS = [
  { signerName: 'kubernetes.io/kubelet-serving', usages: ['digital signature', 'server auth'] },
  { signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usages: ['digital signature', 'client auth'] },
] as const

/** As kubeadm lets its tokens ask, but without the right to be approved at once: where the cluster answers first, the attack is never tried. */
async function letAnybodyBootstrap({ admin, who }: AttackWorld): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const apiGroup = 'rbac.authorization.k8s.io'
  const { status, text } = await admin.raw({
    method: 'POST',
    path: `/apis/${apiVersion}/clusterrolebindings`,
    body: {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'anybody-bootstraps' },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'system:node-bootstrapper' },
      subjects: [{ apiGroup, kind: 'User', name: who.anybody.user }],
    },
  })
  if (status !== 201 && status !== 409) throw new Error(`cannot let anybody bootstrap: ${text}`)
  const [group, resource] = ['certificates.k8s.io', 'certificatesigningrequests']
  await untilAllowed(admin, who.anybody.user, { verb: 'create', group, resource })
}

interface Asked {
  readonly by: keyof Identities
  readonly subject: { readonly commonName: string; readonly organizations?: readonly string[] }
  readonly spec?: object
}

/** What the approver then says to it. */
const approved =
  (name: string, { by: asker, subject, spec }: Asked, type = 'Approved') =>
  async (world: AttackWorld) => {
    const pem = await signingRequest(await newPrivateKey(), subject)
    const request = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name },
      spec: {
        request: Buffer.from(pem).toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client',
        usages: ['client auth'],
        expirationSeconds: HOUR_SECONDS,
        ...spec,
      },
    }
    const made = await world.ask(world.who[asker], 'POST', REQUESTS, { body: request })
    if (made.status !== 201) throw new Error(`cannot ask for a certificate: ${made.text}`)
    const conditions = [{ type, status: 'True', reason: 'Mine', message: 'mine' }]
    return by('approver', 'PUT', `${REQUESTS}/${name}/approval`, { ...request, status: { conditions } })(world)
  }

/** An owner that never was: the collector of garbage would delete what names it. */
const ownedBy = (apiVersion: string, kind: string) => ({
  metadata: { ownerReferences: [{ apiVersion, kind, name: 'never-was', uid: 'never-was' }] },
})
const ownedSecret = (apiVersion: string, kind: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'owned', ...ownedBy(apiVersion, kind).metadata },
})

/** An update of the object as it is now: programs that patch nothing of a kind may not patch it. */
const updates =
  (
    key: 'controllers',
    path: string,
    change: { readonly metadata?: object; readonly spec?: object },
  ): Attempt['attempt'] =>
  async (world) => {
    const now = JSON.parse((await world.ask(world.who.installer, 'GET', path)).text) as KubeObject & { spec?: object }
    const body = {
      ...now,
      metadata: { ...now.metadata, ...change.metadata },
      ...(now.spec !== undefined && { spec: { ...now.spec, ...change.spec } }),
    }
    return by(key, 'PUT', `${path}?dryRun=All`, body)(world)
  }

const SET = `${OURS}/machinesets/declared`
const changesSet =
  (change: object): Attempt['attempt'] =>
  async (world) => {
    const body = { apiVersion: 'kubenode.io/v1alpha1', kind: 'MachineSet', metadata: { name: 'declared' } }
    await world.ask(world.who.sync, 'POST', `${OURS}/machinesets`, { body: { ...body, spec: machineSet.example.spec } })
    return updates('controllers', SET, change)(world)
  }

const SYNC_MANAGER = 'kubenode-sync.kubenode-system.fleet'
const APPLY = 'application/apply-patch+yaml'
const machineNow = async ({ ask, who }: AttackWorld): Promise<Machine> =>
  JSON.parse((await ask(who.installer, 'GET', `${OURS}/machines/m-a`)).text) as Machine

/** Sync declares Machine m-a, as a commit does. */
async function bySync(world: AttackWorld): Promise<void> {
  const { apiVersion, kind, spec } = await machineNow(world)
  const { status, text } = await world.ask(
    world.who.sync,
    'PATCH',
    `${OURS}/machines/m-a?fieldManager=${SYNC_MANAGER}&force=true`,
    { body: { apiVersion, kind, metadata: { name: 'm-a' }, spec }, type: APPLY },
  )
  if (status !== 200) throw new Error(`sync cannot apply: ${text}`)
}

/** As if sync had also written a finalizer, which it would take away with its next commit. */
const forgedWriters = async (world: AttackWorld): Promise<readonly unknown[]> =>
  ((await machineNow(world)).metadata.managedFields ?? []).map((m) =>
    m.manager === SYNC_MANAGER
      ? { ...m, fieldsV1: { ...m.fieldsV1, 'f:metadata': { 'f:finalizers': { 'v:"example.org/kept"': {} } } } }
      : m,
  )

/** As the approver does it. */
const records =
  (text: string, manager: string = FIELD_MANAGERS.approver): Attempt['attempt'] =>
  ({ ask, who }) =>
    ask(who.approver, 'PATCH', `${OURS}/machines/m-a?fieldManager=${manager}&force=true`, {
      body: {
        apiVersion: 'kubenode.io/v1alpha1',
        kind: 'Machine',
        metadata: { name: 'm-a', annotations: { [ANNOTATIONS.agentKey]: text } },
      },
      type: APPLY,
    })

const ATTEMPTS: readonly Attempt[] = [
  ...(['controllers', 'sync', 'approver'] as const).map((thief) => ({
    name: `S25 the key of ${thief} takes the Lease of the Defender before it is there, to stop it`,
    attempt: by(thief, 'POST', LEASES, lease('thief', HOUR_SECONDS)),
    refused: 403,
  })),
  {
    name: 'S25 the key of controllers deletes the Lease of the Defender, to take its place',
    attempt: async (world) => {
      await leads(world)
      return by('controllers', 'DELETE', `${LEASES}/kubenode-defender`)(world)
    },
    refused: /only the program itself writes the Lease/,
  },
  {
    name: 'S25 the key of controllers deletes all Leases at once',
    attempt: async (world) => {
      await leads(world)
      return by('controllers', 'DELETE', LEASES)(world)
    },
    refused: 403,
    afterwards: async ({ ask, admin, who }) => {
      const { status } = await ask(who.defender, 'GET', `${LEASES}/kubenode-defender`)
      if (status !== 200) throw new Error(`the Lease is gone: ${status}`)
      await admin.raw({ method: 'DELETE', path: `${LEASES}/kubenode-defender` })
    },
  },
  {
    name: 'S25 the key of the Defender holds its Lease for an hour after the thief is gone',
    attempt: by('defender', 'POST', LEASES, lease('thief', HOUR_SECONDS)),
    control: leads,
    refused: /at most 60 seconds/,
  },
  {
    name: 'S25 the key of controllers deletes a Lease that is no agent of ours',
    attempt: async (world) => {
      await world.admin.raw({ method: 'POST', path: LEASES, body: lease('other', 15, 'of-others') })
      await world.admin.raw({ method: 'POST', path: LEASES, body: lease('agent', 15, 'agent-m-a') })
      return by('controllers', 'DELETE', `${LEASES}/of-others`)(world)
    },
    control: by('controllers', 'DELETE', `${LEASES}/agent-m-a`),
    refused: /delete the Leases of agents/,
  },
  {
    name: 'S25 the key of the approver lets a Machine go',
    attempt: by('approver', 'PATCH', `${OURS}/machines/m-a`, {
      metadata: { annotations: { 'kubenode.io/let-go': 'true' } },
    }),
    control: by('approver', 'PATCH', `${OURS}/machines/m-a?dryRun=All&fieldManager=${FIELD_MANAGERS.approver}`, {
      metadata: { annotations: { [ANNOTATIONS.agentKey]: '{}' } },
    }),
    refused: /changes no annotation of a Machine but/,
  },
  {
    name: 'S25 the key of the approver makes a token that joins any kubelet',
    attempt: by(
      'approver',
      'POST',
      '/api/v1/namespaces/kube-system/secrets',
      joinToken('bootstrap-token-bbbbbb', 'system:bootstrappers:kubeadm:default-node-token'),
    ),
    refused: /makes and deletes join tokens/,
  },
  {
    name: 'S25 the key of the approver approves what no agent asked for',
    attempt: approved('of-a-person', { by: 'installer', subject: { commonName: 'kubenode:defender' } }),
    control: approved('of-a-token', { by: 'joining', subject: AN_AGENT }),
    refused: /only what join tokens, agents and the door ask for/,
  },
  // Requests of kubelets belong to the cluster's own approvers.
  ...KUBELET_SIGNERS.flatMap(({ signerName, usages }) =>
    ['Approved', 'Denied'].map((type) => ({
      name: `S25 the key of the approver answers a kubelet: ${type} for ${signerName}`,
      attempt: async (world: AttackWorld) => {
        await letAnybodyBootstrap(world)
        return approved(
          `kubelet-${signerName.split('/')[1]}-${type.toLowerCase()}`,
          { by: 'anybody', subject: A_KUBELET, spec: { signerName, usages } },
          type,
        )(world)
      },
      control: approved(`agent-${signerName.split('/')[1]}-${type.toLowerCase()}`, {
        by: 'joining',
        subject: AN_AGENT,
      }),
      refused: /not permitted to approve|approves only requests for/,
    })),
  ),
  {
    name: 'S25 the key of the approver approves a certificate for longer than a year',
    attempt: approved('long', { by: 'joining', subject: AN_AGENT, spec: { expirationSeconds: 8_761 * HOUR_SECONDS } }),
    control: approved(
      'long-denied',
      { by: 'joining', subject: AN_AGENT, spec: { expirationSeconds: 8_761 * HOUR_SECONDS } },
      'Denied',
    ),
    refused: /valid for at most 31536000 seconds/,
  },
  {
    name: 'S26 the key of controllers has a Node deleted through an owner that never was',
    attempt: updates('controllers', '/api/v1/nodes/n-a', ownedBy('kubenode.io/v1alpha1', 'Machine')),
    control: updates('controllers', '/api/v1/nodes/n-a', { metadata: { labels: { ours: 'yes' } } }),
    refused: /sets no owner on a Node or a namespace/,
  },
  {
    name: 'S26 the key of controllers has a Node deleted through the owner of its status',
    attempt: by('controllers', 'PATCH', '/api/v1/nodes/n-a/status', ownedBy('kubenode.io/v1alpha1', 'Machine')),
    refused: 403,
  },
  {
    name: 'S26 the key of sync has a namespace deleted through an owner that never was',
    attempt: by('sync', 'PATCH', '/api/v1/namespaces/default', ownedBy('v1', 'ConfigMap')),
    refused: 403,
  },
  {
    name: 'S26 the key of controllers has a Machine deleted through an owner of a kind that is not ours',
    attempt: by('controllers', 'PATCH', `${OURS}/machines/m-a`, ownedBy('v1', 'Node')),
    refused: /names owners only of kinds of kubenode.io/,
  },
  {
    name: 'S26 the key of controllers makes an object with an owner of a kind that is not ours',
    attempt: by('controllers', 'POST', `${inSystem('secrets')}?dryRun=All`, ownedSecret('v1', 'Node')),
    control: by(
      'controllers',
      'POST',
      `${inSystem('secrets')}?dryRun=All`,
      ownedSecret('kubenode.io/v1alpha1', 'Machine'),
    ),
    refused: /names owners only of kinds of kubenode.io/,
  },
  {
    name: 'S26 the key of controllers has a set deleted that it may not delete, through an owner that never was',
    attempt: changesSet(ownedBy('kubenode.io/v1alpha1', 'Machine')),
    control: by(
      'controllers',
      'PATCH',
      `${OURS}/machines/m-a?dryRun=All`,
      ownedBy('kubenode.io/v1alpha1', 'MachineSet'),
    ),
    refused: /sets owners only on what it may delete itself|change nothing of machinesets/,
  },
  ...Object.entries({
    'how many machines a set has': { spec: { replicas: 0 } },
    'the labels of a set': { metadata: { labels: { a: 'b' } } },
    'what users write into a set': { metadata: { annotations: { 'kubenode.io/any': 'true' } } },
    'who else holds a set': { metadata: { finalizers: ['example.org/never'] } },
  }).map(([what, change]): Attempt => ({
    name: `S25 the key of controllers changes ${what}`,
    attempt: changesSet(change),
    control: changesSet({ metadata: { finalizers: ['kubenode.io/machineset'] } }),
    refused: /change nothing of machinesets/,
  })),
  {
    name: 'S25 the key of the approver has sync remove what others wrote on a Machine',
    attempt: async (world) => {
      await bySync(world)
      return by('approver', 'PATCH', `${OURS}/machines/m-a`, {
        metadata: { managedFields: await forgedWriters(world) },
      })(world)
    },
    control: records('{}'),
    refused: /nothing of what a Machine says of other writers/,
  },
  {
    name: 'S25 the key of the approver has sync let go of all that it declares on a Machine',
    attempt: async (world) => {
      await bySync(world)
      return by('approver', 'PATCH', `${OURS}/machines/m-a`, { metadata: { managedFields: [{}] } })(world)
    },
    // Also when a user wrote the record, for example with a backup.
    control: async (world) => {
      await world.ask(world.who.installer, 'PATCH', `${OURS}/machines/m-a?fieldManager=person`, {
        body: { metadata: { annotations: { [ANNOTATIONS.agentKey]: '{"by":"hand"}' } } },
      })
      return records('{"key":"next"}')(world)
    },
    refused: /nothing of what a Machine says of other writers/,
  },
  {
    name: 'S25 the key of the approver writes a Machine in the name of sync',
    attempt: async (world) => {
      await bySync(world)
      return records('{}', SYNC_MANAGER)(world)
    },
    refused: /nothing of what a Machine says of other writers|changes nothing of a Machine but annotations/,
  },
  {
    name: 'S25 the key of controllers writes the ledger',
    attempt: by('controllers', 'POST', `${OURS}/defenderledgers`, { ...ledger, spec: { sequence: 1 } }),
    control: by('defender', 'POST', `${OURS}/defenderledgers?dryRun=All`, { ...ledger, spec: { sequence: 1 } }),
    refused: 403,
  },
  {
    name: 'S25 the key of controllers lists Secrets of our namespace',
    attempt: by('controllers', 'GET', inSystem('secrets')),
    refused: 403,
  },
  {
    name: 'S25 the key of controllers approves what it waits for',
    attempt: by('controllers', 'POST', `${OURS}/approvals`, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Approval',
      metadata: { name: 'mine' },
      spec: { digest: 'a'.repeat(64), by: 'kubenode:controllers' },
    }),
    refused: 403,
  },
  {
    name: 'S25 the key of controllers makes a bootstrap token, to join as anything',
    attempt: by('controllers', 'POST', '/api/v1/namespaces/kube-system/secrets', joinToken('bootstrap-token-aaaaaa')),
    control: by(
      'approver',
      'POST',
      '/api/v1/namespaces/kube-system/secrets?dryRun=All',
      joinToken('bootstrap-token-aaaaaa'),
    ),
    refused: 403,
  },
  {
    name: 'S25 the key of controllers reads the join tokens of kube-system',
    attempt: by('controllers', 'GET', '/api/v1/namespaces/kube-system/secrets'),
    refused: 403,
  },
  {
    name: 'S25 the key of controllers approves a certificate',
    attempt: async (world) => {
      const { key, ...request } = await certificateRequest()
      await world.admin.raw({ method: 'POST', path: REQUESTS, body: request })
      return by('controllers', 'PUT', `${REQUESTS}/${key}/approval`, request)(world)
    },
    refused: 403,
  },
  ...(['controllers', 'sync', 'defender'] as const).map((thief) => ({
    name: `S26 the key of ${thief} says which key an agent has`,
    attempt: by(thief, 'PATCH', `${OURS}/machines/m-a`, {
      metadata: { annotations: { [ANNOTATIONS.agentKey]: '{"uid":"x","key":"y"}' } },
    }),
    refused: 403,
  })),
  ...(['controllers', 'sync', 'approver'] as const).map((thief) => ({
    name: `S26 the key of ${thief} lets the key of an earlier Machine come back`,
    attempt: by(thief, 'PATCH', `${OURS}/machines/m-a`, {
      metadata: { annotations: { [ANNOTATIONS.readmit]: '{"uid":"x"}' } },
    }),
    refused: /machines\/readmit|changes no annotation of a Machine but/,
  })),
  {
    name: 'S25 the key of the approver changes what a Machine is',
    attempt: by('approver', 'PATCH', `${OURS}/machines/m-a`, { spec: { pool: 'mine' } }),
    control: by('approver', 'PATCH', `${OURS}/machines/m-a?dryRun=All&fieldManager=${FIELD_MANAGERS.approver}`, {
      metadata: { annotations: { [ANNOTATIONS.agentKey]: '{}' } },
    }),
    refused: /changes nothing of a Machine but annotations/,
  },
  {
    name: 'S25 the key of the approver makes another Secret than a join token',
    attempt: by('approver', 'POST', `/api/v1/namespaces/${JOIN_NAMESPACE}/secrets`, secret('stolen', 'Opaque')),
    refused: /makes and deletes join tokens/,
  },
  {
    name: 'S25 the key of the approver lists Secrets',
    attempt: by('approver', 'GET', '/api/v1/namespaces/kube-system/secrets'),
    refused: 403,
  },
  {
    name: 'S25 the key of the Defender deletes a Machine',
    attempt: by('defender', 'DELETE', `${OURS}/machines/m-a`),
    refused: 403,
  },
  {
    name: 'S25 the key of the Defender reads Secrets of others',
    attempt: by('defender', 'GET', '/api/v1/namespaces/shop/secrets'),
    refused: 403,
  },
  {
    name: 'S25 the key of sync gives itself a role',
    attempt: by('sync', 'POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'mine' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'User', name: 'kubenode:sync', apiGroup: 'rbac.authorization.k8s.io' }],
    }),
    refused: 403,
  },
  {
    name: 'S25 the key of sync removes the policies that hold others',
    attempt: by(
      'sync',
      'DELETE',
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/kubenode-defender',
    ),
    refused: 403,
  },
  {
    name: 'S25 the key of sync grants a permit',
    attempt: by('sync', 'PATCH', `${OURS}/operationpermits/any/status`, { status: { phase: 'Granted' } }),
    refused: 403,
  },
  {
    name: 'S25 the key of controllers runs a pod as the Defender',
    attempt: by('controllers', 'POST', inSystem('pods'), pod('a', { serviceAccountName: 'kubenode-defender' })),
    refused: 403,
  },
  {
    name: 'S25 the key of controllers runs a probe with a token',
    attempt: by('controllers', 'POST', PROBES, pod('b', { automountServiceAccountToken: true })),
    control: by('controllers', 'POST', PROBES, pod('c', {})),
    refused: /controllers make pods that inspect a step of a rollout of one form/,
  },
  {
    name: 'S25 the key of controllers runs a probe with a projected token',
    attempt: by(
      'controllers',
      'POST',
      PROBES,
      pod('d', { volumes: [{ name: 't', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] }),
    ),
    refused: /controllers make pods that inspect a step of a rollout of one form/,
  },
  {
    name: 'S25 the key of controllers makes a Secret that turns into the token of the Defender',
    attempt: by('controllers', 'POST', inSystem('secrets'), secret('a', TOKEN)),
    control: by('controllers', 'POST', inSystem('secrets'), secret('b', 'Opaque')),
    refused: /turns into the token/,
  },
  ...(['controllers', 'approver'] as const).map((thief) => ({
    name: `S25 the key of ${thief} makes a Secret that turns into the token of an account of Kubernetes`,
    attempt: by(thief, 'POST', '/api/v1/namespaces/kube-system/secrets', secret('c', TOKEN, 'namespace-controller')),
    refused: 403,
  })),
  {
    name: 'S25 the key of sync runs a privileged DaemonSet as the Defender',
    attempt: by(
      'sync',
      'POST',
      daemonSets(SYSTEM_NAMESPACE),
      daemonSet('a', { serviceAccountName: 'kubenode-defender', hostPID: true }),
    ),
    refused: /only the installer makes or scales workloads|not list/,
  },
  {
    name: 'S25 the key of sync runs a DaemonSet as an account of Kubernetes, other than the one that is listed',
    attempt: async (world) => {
      await list(world, 'kube-system', 'daemonsets/cni', 'cni')
      await list(world, 'kube-system', 'daemonsets', 'cni', 'declare-host')
      return by('sync', 'POST', daemonSets('kube-system'), daemonSet('cni', { serviceAccountName: 'root' }))(world)
    },
    control: by(
      'sync',
      'POST',
      daemonSets('kube-system'),
      daemonSet('cni', { serviceAccountName: 'cni', hostPID: true }),
    ),
    afterwards: async (world) => {
      const { status, text } = await by('sync', 'DELETE', `${daemonSets('kube-system')}/cni`)(world)
      if (status !== 200) throw new Error(`what is listed cannot be pruned: ${text}`)
    },
    refused: /names a service account that the installer did not list/,
  },
  {
    name: 'S25 the key of sync runs a DaemonSet with the files of every node',
    attempt: by(
      'sync',
      'POST',
      daemonSets('shop'),
      daemonSet('a', { volumes: [{ name: 'r', hostPath: { path: '/' } }] }),
    ),
    control: by('sync', 'POST', daemonSets('shop'), daemonSet('a', {})),
    refused: /not on the list of the installer/,
  },
  {
    name: 'S25 the key of sync puts a pod in place that accepts nodes, other than the one that is listed',
    attempt: async (world) => {
      await list(world, ACCEPTANCE_NAMESPACE, 'podtemplates', 'memtest')
      return by('sync', 'POST', POD_TEMPLATES, podTemplate('anything'))(world)
    },
    control: by('sync', 'POST', POD_TEMPLATES, podTemplate('memtest')),
    refused: /not on the list of the installer/,
  },
  {
    name: 'S25 the key of sync changes settings of Kubernetes',
    attempt: by('sync', 'POST', '/api/v1/namespaces/kube-system/configmaps', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'coredns' },
    }),
    refused: /not on the list of the installer/,
  },
  {
    name: 'S25 the key of sync says that KubeNode is being uninstalled, so that the guard stays away',
    attempt: by('sync', 'PATCH', `/api/v1/namespaces/${SYSTEM_NAMESPACE}`, {
      metadata: { annotations: { 'kubenode.io/uninstalling': 'true' } },
    }),
    refused: /declares no namespace/,
  },
  {
    name: 'S25 the key of sync deletes our namespace',
    attempt: by('sync', 'DELETE', `/api/v1/namespaces/${SYSTEM_NAMESPACE}`),
    refused: /declares no namespace|does not live without this namespace/,
  },
  ...(['sync', 'controllers', 'approver', 'defender'] as const).map((thief) => ({
    name: `S25 the key of ${thief} lifts the deletion guard`,
    attempt: by(thief, 'POST', `${OURS}/operationalholds`, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'OperationalHold',
      metadata: { name: `lift-${thief}` },
      spec: {
        target: { kind: 'Cluster', selector: {} },
        effect: 'Unprotect',
        reason: 'a theft',
        author: 'me',
        until: '2099-01-01T00:00:00Z',
      },
    }),
    refused: 403,
  })),
  ...['fleetsources', 'releases', 'clusters', 'releasepipelines'].map((plural) => ({
    name: `S25 the key of sync on a member lists ${plural}, which belong to the hub`,
    attempt: by('sync', 'GET', `${OURS}/namespaces/${SYSTEM_NAMESPACE}/${plural}`),
    refused: 403,
  })),
  {
    name: 'S25 the key of sync on a member reads the key of the webhook',
    attempt: by('sync', 'GET', secretAt(`${WEBHOOK_NAMESPACE}/kubenode-webhook-tls`)),
    refused: 403,
  },
  {
    name: 'S25 the key of sync on a member takes the leadership of sync',
    attempt: by('sync', 'POST', `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases`, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'kubenode-sync' },
    }),
    refused: 403,
  },
  ...(['sync', 'controllers', 'approver'] as const).map((thief) => ({
    name: `S30 the key of ${thief} reads the path of the webhook`,
    attempt: by(thief, 'GET', '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/kubenode.io'),
    refused: 403,
  })),
]

tryOnServers('the key of a program', [...ATTEMPTS, ...WORKLOADS, ...UNLIKE_SECRETS])
