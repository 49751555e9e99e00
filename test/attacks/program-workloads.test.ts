// The attacker has the key of a program that makes workloads: what it can run. Walks deploy/charts/workload-forms.ts, so that a form without an attempt does not exist.
import { controlPlaneObjects } from '#api/constructs/control-plane/control-plane.ts'
import { emptyDataClaim, restoreJob, snapshotClaim, snapshotJob } from '#api/constructs/control-plane/etcd-jobs.ts'
import { addMemberJob, listMembersJob } from '#api/constructs/control-plane/etcd-member-jobs.ts'
import { askJob, compactJob, defragmentJob, disarmJob } from '#api/constructs/control-plane/etcd-store-jobs.ts'
import { PARTS, SECRETS } from '#api/constructs/control-plane/settings.ts'
import { API_GROUP } from '#api/kind.ts'
import {
  ANNOTATIONS,
  CLUSTER_PROGRAMS,
  CONTROL_PLANE_ROLE,
  CONTROL_PLANE_VERSIONS,
  FIELD_MANAGERS,
  PROBES_NAMESPACE,
  programUser,
  SYSTEM_NAMESPACE,
} from '#api/names.ts'
import { namespaceLabels } from '#controlplanes/kubernetes/plane-record.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { jobOf } from '#sync/render/job/job-spec.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'
import {
  type Answer,
  type Attempt,
  type AttackWorld,
  tryOnServers,
  type Who,
} from '#test/support/worlds/attack-world.ts'
import { planeSettings } from '#test/support/worlds/control-planes.ts'
import { asHub, pathOf } from '#test/support/worlds/hub-world.ts'
import { WORKLOAD_FORMS, type WorkloadForm } from '../../deploy/charts/workload-forms.ts'

const settings = planeSettings()
const { namespace } = settings
const cluster: Who = { user: programUser('cluster'), groups: ['system:authenticated'] }
type Fields = Record<string, unknown>

const plain = (object: object): KubeObject => JSON.parse(JSON.stringify(object)) as KubeObject
const OBJECTS = controlPlaneObjects(settings).filter((o) => o.kind !== 'Namespace')
const JOBS = [
  snapshotClaim(settings),
  emptyDataClaim(settings, 7),
  snapshotJob(settings, 'snapshot', { slot: 1, member: 0 }),
  restoreJob(settings, 'restore', { slot: 1, member: 0, restores: 2 }),
  askJob(settings, 'ask', [0, 1, 2]),
  compactJob(settings, 'compact', { members: [0], revision: 7 }),
  defragmentJob(settings, 'defragment', 0),
  disarmJob(settings, 'disarm', [0]),
  listMembersJob(settings, 'list', [0]),
  addMemberJob(settings, 'add', [0], 1),
].map(plain)
const secrets = Object.keys(SECRETS).map((name): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'Opaque',
  metadata: { name, namespace },
}))

const prepared = new WeakMap<AttackWorld, Promise<void>>()
/** A namespace of a control plane, made with the key of the program, on a hub whose people listed its images. */
function asPlane(world: AttackWorld): Promise<void> {
  const known = prepared.get(world) ?? makePlane(world)
  prepared.set(world, known)
  return known
}
async function makePlane(world: AttackWorld): Promise<void> {
  const { ask, admin } = world
  await asHub(world)
  const images = Object.fromEntries(PARTS.map((part) => [part, settings.parts[part].image]))
  const versions = JSON.stringify(
    { versions: [{ version: '1.36.2', etcd: '3.6.6', emulatesFrom: 33, images }] },
    null,
    2,
  )
  const configMap = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/configmaps/${CONTROL_PLANE_VERSIONS}`
  await made(ask(world.who.installer, 'PATCH', configMap, { body: { data: { 'versions.json': versions } } }))
  const labels = { ...namespaceLabels(settings.cluster), [ANNOTATIONS.controlPlane]: 'true' }
  const space = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } }
  const apiGroup = 'rbac.authorization.k8s.io'
  const binding = {
    apiVersion: `${apiGroup}/v1`,
    kind: 'RoleBinding',
    metadata: { name: CONTROL_PLANE_ROLE, namespace },
    roleRef: { apiGroup, kind: 'ClusterRole', name: CONTROL_PLANE_ROLE },
    subjects: [{ kind: 'User', name: cluster.user, apiGroup }],
  }
  // A real server takes up roles and policies a moment after they were written.
  await eventually(
    () => ask(cluster, 'POST', '/api/v1/namespaces', { body: space }),
    ({ status }) => status === 201 || status === 409,
  )
  await eventually(
    () => ask(cluster, 'POST', pathOf(binding, false), { body: binding }),
    ({ status }) => status === 201 || status === 409,
  )
  await eventually(
    () => ask(cluster, 'GET', `/api/v1/namespaces/${namespace}/secrets`),
    ({ status }) => status === 200,
  )
  await admin.raw({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts`,
    body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } },
  })
}
async function made(answer: Promise<Answer>): Promise<Answer> {
  const { status, text } = await answer
  if (status >= 300) throw new Error(`${status} ${text}`)
  return { status, text }
}

const apply =
  (who: (world: AttackWorld) => Who, object: KubeObject) =>
  async (world: AttackWorld): Promise<Answer> => {
    await asPlane(world)
    return world.ask(who(world), 'PATCH', `${pathOf(object)}?fieldManager=kubenode-cluster&force=true`, {
      body: object,
      type: 'application/apply-patch+yaml',
    })
  }
const byCluster = (object: KubeObject) => apply(() => cluster, object)
const post =
  (who: (world: AttackWorld) => Who, object: KubeObject) =>
  async (world: AttackWorld): Promise<Answer> => {
    await asPlane(world)
    return world.ask(who(world), 'POST', pathOf(object, false), { body: object })
  }

const at = (object: unknown, ...path: readonly (string | number)[]): Fields =>
  path.reduce<unknown>((o, key) => (o as Fields)[key], object) as Fields

/** One workload for each form and resource, as its program makes it. */
interface Base {
  readonly form: WorkloadForm
  readonly who: (world: AttackWorld) => Who
  readonly make: () => KubeObject
  readonly pod: readonly (string | number)[]
}
let runs = 0
const named = (object: KubeObject): KubeObject => ({
  ...structuredClone(object),
  metadata: { ...object.metadata, name: `w-${runs++}` },
})
const find = (list: readonly KubeObject[], kind: string): KubeObject => {
  const found = list.find((o) => o.kind === kind)
  if (found === undefined) throw new Error(kind)
  return found
}
const probe = (): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `w-${runs++}`, namespace: PROBES_NAMESPACE },
  spec: {
    nodeName: 'n-a',
    restartPolicy: 'OnFailure',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    tolerations: [{ operator: 'Exists' }],
    securityContext: { runAsNonRoot: true, runAsUser: 65_534, runAsGroup: 65_534 },
    containers: [
      {
        name: 'probe',
        image: 'a',
        command: ['a'],
        readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 2 },
        securityContext: {
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
          seccompProfile: { type: 'RuntimeDefault' },
        },
      },
    ],
  },
})
const TEMPLATE = ['spec', 'template', 'spec'] as const
const BASES: readonly Base[] = [
  ...['Deployment', 'StatefulSet', 'Job'].map((kind): Base => ({
    form: WORKLOAD_FORMS.controlPlanes,
    who: () => cluster,
    make: () => named(find([...OBJECTS, ...JOBS], kind)),
    pod: TEMPLATE,
  })),
  {
    form: WORKLOAD_FORMS.renders,
    who: ({ who }) => who.sync,
    make: () =>
      jobOf({ run: `w${runs++}`, image: `r.example.org/k@sha256:${'a'.repeat(64)}`, parts: 1, deadlineMs: 30_000 }),
    pod: TEMPLATE,
  },
  { form: WORKLOAD_FORMS.probes, who: ({ who }) => who.controllers, make: probe, pod: ['spec'] },
]

/** Of pods, with a value that a server takes. */
const POD_FIELDS: Readonly<Record<string, unknown>> = {
  affinity: { nodeAffinity: {} },
  dnsConfig: { nameservers: ['10.0.0.1'] },
  hostAliases: [{ ip: '10.0.0.1', hostnames: ['a'] }],
  hostIPC: true,
  hostname: 'a',
  hostNetwork: true,
  hostPID: true,
  nodeName: 'n-a',
  nodeSelector: { a: 'b' },
  os: { name: 'linux' },
  priorityClassName: 'system-node-critical',
  readinessGates: [{ conditionType: 'a/b' }],
  runtimeClassName: 'kata',
  schedulingGates: [{ name: 'a/b' }],
  setHostnameAsFQDN: true,
  shareProcessNamespace: true,
  subdomain: 'a',
  tolerations: [{ operator: 'Exists' }],
  hostUsers: true,
  resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'a' }],
}
const VOLUMES: Readonly<Record<string, unknown>> = {
  hostPath: { path: '/' },
  csi: { driver: 'secrets-store.csi.k8s.io' },
  nfs: { server: '10.0.0.1', path: '/' },
  iscsi: { targetPortal: '10.0.0.1', iqn: 'iqn.2001-04.com.example:a', lun: 0 },
  flexVolume: { driver: 'a/b' },
  downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'metadata.name' } }] },
  secret: { secretName: 'x' },
  persistentVolumeClaim: { claimName: 'x' },
  image: { reference: 'a' },
  projected: { sources: [{ serviceAccountToken: { path: 't' } }] },
  ephemeral: {
    volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
  },
}
const CONTAINER_FIELDS: Readonly<Record<string, unknown>> = {
  args: ['--a'],
  envFrom: [{ configMapRef: { name: 'a' } }],
  lifecycle: { preStop: { exec: { command: ['a'] } } },
  ports: [{ containerPort: 80, hostPort: 443 }],
  stdin: true,
  tty: true,
  volumeDevices: [{ name: 'data', devicePath: '/dev/xvda' }],
  workingDir: '/',
  command: ['sh', '-c', 'id'],
  env: [{ name: 'LD_PRELOAD', value: '/tmp/a.so' }],
  image: 'docker.io/library/busybox:latest',
  livenessProbe: { httpGet: { port: 10_255, host: '127.0.0.1' } },
  readinessProbe: { exec: { command: ['a'] } },
  startupProbe: { tcpSocket: { port: 22, host: '127.0.0.1' } },
}
const SECURITY: Readonly<Record<string, unknown>> = {
  privileged: true,
  procMount: 'Unmasked',
  runAsUser: 0,
  seLinuxOptions: { type: 'spc_t' },
  appArmorProfile: { type: 'Unconfined' },
  seccompProfile: { type: 'Unconfined' },
  allowPrivilegeEscalation: true,
  capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] },
}
const OF_POD: Readonly<Record<string, unknown>> = {
  sysctls: [{ name: 'kernel.msgmax', value: '1' }],
  supplementalGroups: [0],
  seLinuxOptions: { type: 'spc_t' },
  runAsNonRoot: false,
}

/** Everything that the form does not list, and other values of what it fixes. */
function changesOf({ form, pod }: Base): readonly (readonly [string, (o: KubeObject) => void])[] {
  const { containers, fields, fixed = [] } = form.pod
  const isFree = (field: string): boolean =>
    ['command', 'env', 'image', 'livenessProbe', 'readinessProbe', 'startupProbe', 'ports'].includes(field)
  const first = [...pod, 'containers', 0] as const
  const changes: [string, (o: KubeObject) => void][] = []
  const add = (what: string, change: (o: KubeObject) => void): void => void changes.push([what, change])
  for (const [field, value] of Object.entries(POD_FIELDS))
    if (!fields.includes(field)) add(`${field} of the pod`, (o) => (at(o, ...pod)[field] = value))
  for (const { field, is } of fixed)
    if (typeof is === 'boolean') add(`${field} ${!is}`, (o) => (at(o, ...pod)[field] = !is))
  for (const [kind, source] of Object.entries(VOLUMES))
    if (!form.pod.volumes.includes(kind) || kind === 'projected')
      add(`a volume ${kind}`, (o) => {
        const spec = at(o, ...pod)
        spec['volumes'] = [...((spec['volumes'] as unknown[] | undefined) ?? []), { name: 'more', [kind]: source }]
      })
  for (const [field, value] of Object.entries(CONTAINER_FIELDS)) {
    const isListed = containers.fields.includes(field)
    const isHeld =
      (field === 'command' && containers.programs !== undefined) ||
      (field === 'env' && containers.variables !== undefined) ||
      (field === 'image' && containers.imagesOfVersionFile) ||
      (isListed && ['args', 'livenessProbe', 'ports', 'readinessProbe', 'startupProbe'].includes(field))
    if (!isListed || (isFree(field) && isHeld) || field === 'args')
      add(`${field} of a container`, (o) => (at(o, ...first)[field] = value))
  }
  for (const [field, value] of Object.entries(SECURITY))
    if (field !== 'runAsUser' || !containers.security.fields.includes(field))
      add(`security of a container: ${field}`, (o) => (at(o, ...first, 'securityContext')[field] = value))
  for (const [field, value] of Object.entries(OF_POD))
    add(`security of a pod: ${field}`, (o) => (at(o, ...pod, 'securityContext')[field] = value))
  for (const field of ['serviceAccountName', 'serviceAccount'])
    add(`account by ${field}`, (o) => {
      delete at(o, ...pod)['serviceAccountName']
      at(o, ...pod)[field] = 'kubenode-defender'
    })
  for (const annotation of [
    'k8s.v1.cni.cncf.io/networks',
    'cdi.k8s.io/gpu',
    'container.apparmor.security.beta.kubernetes.io/a',
  ])
    add(`annotation ${annotation}`, (o) => {
      const template = at(o, ...pod.slice(0, -1))
      const metadata = { ...(template['metadata'] as Fields | undefined) }
      template['metadata'] = {
        ...metadata,
        annotations: { ...(metadata['annotations'] as Fields | undefined), [annotation]: 'a' },
      }
    })
  if (!containers.lists.includes('initContainers'))
    add('a first container', (o) => (at(o, ...pod)['initContainers'] = [{ ...at(o, ...first), name: 'b' }]))
  if (containers.most === 1)
    add(
      'a second container',
      (o) => (at(o, ...pod)['containers'] = [at(o, ...first), { ...at(o, ...first), name: 'b' }]),
    )
  return changes
}

const WALK: readonly Attempt[] = BASES.flatMap((base) => {
  const kind = base.make().kind
  return changesOf(base).map(([what, change]): Attempt => ({
    name: `S25 the key of ${base.form.program} makes a ${kind} with ${what}`,
    attempt: (world) => {
      const object = base.make()
      change(object)
      return post(base.who, object)(world)
    },
    refused: /^403 .*(differs in|images of the version file|PodSecurity)|^4(03|00|22) /,
  }))
})

const CONTROLS: readonly Attempt[] = BASES.map((base) => ({
  name: `S25 the key of ${base.form.program} makes a ${base.make().kind} as it is, and no pod beside it`,
  attempt: async (world) => {
    await asPlane(world)
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `w-${runs++}`, namespace },
      spec: at(base.make(), ...base.pod),
    }
    return post(base.who, pod)(world)
  },
  control: (world) => post(base.who, base.make())(world),
  refused: 403,
}))

const one = (kind: string): KubeObject => structuredClone(find([...OBJECTS, ...JOBS], kind))
const changed = (object: KubeObject, change: (o: KubeObject) => void): KubeObject => {
  change(object)
  return object
}

const permit: KubeObject = {
  apiVersion: `${API_GROUP}/v1alpha1`,
  kind: 'OperationPermit',
  metadata: { name: 'cluster-pre-0-delete-b0' },
  spec: {
    operations: ['ChangeControlPlane', 'DeleteControlPlane'],
    targets: [{ kind: 'Cluster', name: 'pre', namespace: SYSTEM_NAMESPACE, uid: 'u' }],
    requester: { manager: FIELD_MANAGERS.cluster, kind: 'Cluster', name: 'pre', namespace: SYSTEM_NAMESPACE, uid: 'u' },
    reason: 'delete the control plane after a final snapshot',
    leaseSeconds: 600,
  },
}

const OTHERS: readonly Attempt[] = [
  {
    name: 'S25 the key of cluster makes Endpoints in a control plane; its permits, in no namespace, are made',
    attempt: post(() => cluster, { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'a', namespace } }),
    control: post(() => cluster, permit),
    refused: 403,
  },
  ...[...OBJECTS, ...JOBS, ...secrets].map((object): Attempt => ({
    name: `S25 the key of cluster applies ${object.kind} ${object.metadata.name ?? ''} of a control plane twice, and not with an annotation that others act on`,
    attempt: byCluster({
      ...object,
      metadata: { ...object.metadata, annotations: { 'external-dns.alpha.kubernetes.io/hostname': 'hub.example.org' } },
    }),
    control: async (world) => {
      await made(byCluster(object)(world))
      return byCluster(object)(world)
    },
    refused: /writes no annotations but those/,
  })),
  {
    name: 'S25 the key of cluster takes addresses of others by a Service',
    attempt: byCluster(changed(one('Service'), (o) => (at(o, 'spec')['externalIPs'] = ['10.0.0.1']))),
    refused: /takes no addresses of others/,
  },
  {
    name: 'S25 the key of cluster makes a Service that selects nothing',
    attempt: post(() => cluster, named(changed(one('Service'), (o) => delete at(o, 'spec')['selector']))),
    refused: /takes no addresses of others/,
  },
  {
    name: 'S25 the key of cluster takes a volume of others by a claim',
    attempt: post(
      () => cluster,
      named(changed(one('PersistentVolumeClaim'), (o) => (at(o, 'spec')['volumeName'] = 'of-others'))),
    ),
    refused: /names no volume/,
  },
  {
    name: 'S25 the key of cluster takes volumes of others by a StatefulSet',
    attempt: post(
      () => cluster,
      named(
        changed(
          one('StatefulSet'),
          (o) => (at(o, 'spec', 'volumeClaimTemplates', 0, 'spec')['volumeName'] = 'of-others'),
        ),
      ),
    ),
    refused: /names no volume/,
  },
  {
    name: 'S25 the key of cluster turns a Secret into the token of an account',
    attempt: post(() => cluster, {
      ...secrets[0],
      type: 'kubernetes.io/service-account-token',
      metadata: { name: 'token', namespace, annotations: { 'kubernetes.io/service-account.name': 'default' } },
    } as KubeObject),
    refused: 403,
  },
  {
    name: 'S25 the key of cluster gives a workload that runs the power of its node',
    attempt: async (world) => {
      const deployment = one('Deployment')
      await made(byCluster(deployment)(world))
      return world.ask(cluster, 'PATCH', pathOf(deployment), {
        body: { spec: { template: { spec: { hostPID: true } } } },
      })
    },
    refused: /differs in: fields of the pod|PodSecurity/,
  },
  {
    name: 'S25 the key of cluster moves a workload that an administrator placed',
    attempt: async (world) => {
      const deployment = one('Deployment')
      await made(byCluster(deployment)(world))
      const placed = { spec: { template: { spec: { nodeSelector: { pool: 'planes' } } } } }
      await made(world.ask(world.who.installer, 'PATCH', pathOf(deployment), { body: placed }))
      return world.ask(cluster, 'PATCH', pathOf(deployment), {
        body: { spec: { template: { spec: { nodeSelector: { pool: 'hub' } } } } },
      })
    },
    control: byCluster(one('Deployment')),
    refused: /differs in: fields of the pod/,
  },
  {
    name: 'S25 the key of cluster, or of controllers, writes which images control planes may run',
    attempt: async (world) => {
      await asPlane(world)
      const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/configmaps/${CONTROL_PLANE_VERSIONS}`
      const body = { data: { more: '"docker.io/library/busybox@sha256:0"' } }
      const answer = await world.ask(cluster, 'PATCH', path, { body })
      return answer.status === 403 ? world.ask(world.who.controllers, 'PATCH', path, { body }) : answer
    },
    refused: /only the installer writes ConfigMap/,
  },
  {
    name: 'S25 the key of controllers writes what the hub applies to Clusters as their administrator',
    attempt: async (world) => {
      await asPlane(world)
      const metadata = { name: CLUSTER_PROGRAMS, namespace: SYSTEM_NAMESPACE }
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'objects.json': '[]' } }
      return world.ask(world.who.controllers, 'POST', `/api/v1/namespaces/${SYSTEM_NAMESPACE}/configmaps`, { body })
    },
    refused: /only the installer writes ConfigMap/,
  },
]

tryOnServers('who has the key of a program that makes workloads', [...CONTROLS, ...WALK, ...OTHERS])
