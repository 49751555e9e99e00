// Cluster: a control plane: workloads on the hub, or an existing one registered by its kubeconfig.
import { AGE, text } from '../columns.ts'
import {
  choice,
  fallback,
  freeform,
  immutable,
  int,
  map,
  mapList,
  obj,
  optional,
  rule,
  str,
  time,
  union,
  unserved,
} from '../build.ts'
import {
  conditions,
  dnsLabel,
  duration,
  labelValue,
  objectName,
  observedGeneration,
  phase,
  quantity,
  sentence,
  secretRef,
  url,
  waitingFor,
} from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf, type StatusOf } from '../kind.ts'

const MAX_ADDONS = 64
const MAX_ADDON_BYTES = 64 * 1024

const HOSTED = 'control planes are not created'

const kubernetesVersion = (doc: string) =>
  str(doc, {
    min: 5,
    max: 64,
    pattern: '^[0-9]+\\.[0-9]+\\.[0-9]+([-+][0-9A-Za-z.+-]+)?$',
    says: 'a version such as 1.34.2',
  })

const cidr = (doc: string) =>
  str(doc, { min: 4, max: 43, pattern: '^[0-9a-fA-F.:]+/[0-9]{1,3}$', says: 'a range such as 10.244.0.0/16' })

const resources = obj('Resources of each component of the control plane.', {
  cpu: optional(quantity('Processors.')),
  memory: optional(quantity('Memory.')),
})

const controlPlane = obj('The control plane as workloads on the hub.', {
  flavor: fallback(
    immutable(
      choice('The Kubernetes binaries, or the embedded API server.', ['kubernetes', 'embedded']),
      'the flavor of a control plane is immutable; create another cluster',
    ),
    'kubernetes',
  ),
  replicas: fallback(int('Number of API servers.', { min: 1, max: 7 }), 1),
  etcd: fallback(
    obj('The etcd cluster.', {
      // A rule of the number, not of the store: a server judges the store's default before the number is in it.
      replicas: fallback(
        rule(int('Number of members: 1, 3 or 5.', { min: 1, max: 5 }), {
          cel: 'self % 2 == 1',
          message: 'etcd must have 1, 3 or 5 members',
          holds: (replicas) => replicas % 2 === 1,
        }),
        1,
      ),
      storage: fallback(quantity('Size of the volume of each member.'), '8Gi'),
    }),
    {},
  ),
  resources: optional(resources),
  extraArgs: optional(
    map(
      'Additional arguments of the components, as component.flag, such as apiserver.audit-policy-file.',
      str('A value.', { max: 1_024 }),
      { max: 64 },
    ),
  ),
})

const addon = obj('One addon that is applied before machines join.', {
  name: dnsLabel('Name of the addon.'),
  version: str('Its version.', { min: 1, max: 128 }),
  values: optional(freeform('Values for the addon.', { maxBytes: MAX_ADDON_BYTES })),
})

const spec = rule(
  union(
    obj('The desired state of the cluster.', {
      version: optional(unserved(kubernetesVersion('Version of the control plane.'), HOSTED)),
      controlPlane: optional(unserved(controlPlane, HOSTED)),
      kubeconfigSecretRef: optional(
        secretRef(
          'Secret with the kubeconfig of an existing cluster: in the same namespace, or in kubenode-clusters for a Cluster in kubenode-system. Its name is cluster- with the name of the Cluster, or its annotation kubenode.io/cluster is namespace/name of the Cluster.',
        ),
      ),
      network: optional(
        unserved(
          obj('Address ranges.', {
            podCIDR: optional(immutable(cidr('Pod IP range.'), 'podCIDR is immutable')),
            serviceCIDR: optional(immutable(cidr('Service IP range.'), 'serviceCIDR is immutable')),
            dnsDomain: fallback(
              immutable(objectName('DNS domain of the cluster.'), 'dnsDomain is immutable'),
              'cluster.local',
            ),
          }),
          HOSTED,
        ),
      ),
      addons: optional(
        unserved(
          mapList('Addons that are applied before machines join.', addon, { keys: ['name'], max: MAX_ADDONS }),
          'addons are not applied',
        ),
      ),
      stage: optional(labelValue('Stage of the cluster; pipelines select by it.')),
      deletionPolicy: fallback(
        unserved(
          choice('What happens to a control plane on the hub if this object is deleted: it is kept, or deleted.', [
            'Orphan',
            'Delete',
          ]),
          HOSTED,
          ['Delete'],
        ),
        'Orphan',
      ),
      ttl: optional(
        unserved(duration('Time after which the cluster is deleted; requires deletionPolicy Delete.'), HOSTED),
      ),
    }),
    ['controlPlane', 'kubeconfigSecretRef'],
  ),
  {
    cel: 'has(self.controlPlane) ? has(self.version) : true',
    message: 'a control plane requires version',
    fieldPath: '.version',
    holds: (s) => s.controlPlane === undefined || s.version !== undefined,
  },
)

const specWithTtl = rule(spec, {
  cel: "has(self.ttl) ? self.deletionPolicy == 'Delete' : true",
  message: 'ttl requires deletionPolicy Delete',
  fieldPath: '.deletionPolicy',
  holds: (s) => s.ttl === undefined || s.deletionPolicy === 'Delete',
})

const status = obj('The observed state of the cluster.', {
  observedGeneration: optional(observedGeneration()),
  phase: optional(phase('Cluster')),
  endpoint: optional(url('URL of its API server.')),
  kubeconfigSecret: optional(secretRef('Secret with the generated kubeconfig.')),
  uid: optional(str('UID of its kube-system namespace, to detect a different cluster.', { max: 64 })),
  versions: optional(
    mapList(
      'The running versions.',
      obj('One component.', { part: dnsLabel('The component.'), version: str('Its version.', { max: 64 }) }),
      { keys: ['part'], max: 16 },
    ),
  ),
  history: optional(
    mapList(
      'The last ten versions.',
      obj('One version.', {
        version: str('The version.', { max: 64 }),
        startedAt: time('When the upgrade to this version started.'),
        completedAt: optional(time('When the upgrade was complete.')),
        snapshot: optional(str('Name of the snapshot that was taken before the upgrade.', { max: 253 })),
        message: optional(sentence('The result.')),
      }),
      { keys: ['version', 'startedAt'], max: 10 },
    ),
  ),
  addons: optional(
    mapList(
      'The addons.',
      obj('One addon.', {
        name: dnsLabel('Name of the addon.'),
        version: str('The applied version.', { max: 128 }),
        healthy: choice('Whether it is healthy.', ['True', 'False', 'Unknown']),
        message: optional(sentence('Why, for people.')),
      }),
      { keys: ['name'], max: MAX_ADDONS },
    ),
  ),
  machines: optional(
    obj('Its machines.', {
      total: int('All machines.', { min: 0, max: 1_000_000 }),
      ready: int('Machines that are Ready.', { min: 0, max: 1_000_000 }),
    }),
  ),
  expiresAt: optional(time('When the time to live expires.')),
  lastSeen: optional(time('When the cluster last answered; updated at most once a minute.')),
  waitingFor: optional(waitingFor()),
  conditions: optional(conditions()),
})

export const cluster = defineKind({
  kind: 'Cluster',
  plural: 'clusters',
  shortNames: ['kcl'],
  namespaced: true,
  doc: 'A control plane: workloads on the hub, or an existing cluster registered by its kubeconfig.',
  spec: specWithTtl,
  status,
  selectable: ['.spec.stage'],
  columns: [text('Stage', '.spec.stage'), AGE],
  example: {
    metadata: { name: 'prod-1', namespace: 'fleet' },
    spec: { kubeconfigSecretRef: { name: 'cluster-prod-1' }, stage: 'prod' },
  },
})

export type Cluster = ObjectOf<typeof cluster>
export type ClusterInput = InputOf<typeof cluster>
export type ClusterSpec = SpecOf<typeof cluster>
export type ClusterStatus = StatusOf<typeof cluster>
