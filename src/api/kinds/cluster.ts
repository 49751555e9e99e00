// Cluster: a control plane: workloads on the hub, or an existing one registered by its kubeconfig.
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

const kubernetesVersion = (doc: string) =>
  str(doc, {
    min: 5,
    max: 64,
    pattern: '^[0-9]+\\.[0-9]+\\.[0-9]+([-+][0-9A-Za-z.+-]+)?$',
    says: 'a version such as 1.34.2',
  })

const cidr = (doc: string) =>
  str(doc, { min: 4, max: 43, pattern: '^[0-9a-fA-F.:]+/[0-9]{1,3}$', says: 'a range such as 10.244.0.0/16' })

const resources = obj('What each part of the control plane may use.', {
  cpu: optional(quantity('Processors.')),
  memory: optional(quantity('Memory.')),
})

const controlPlane = obj('The control plane as workloads on the hub.', {
  flavor: fallback(
    immutable(
      choice('The real Kubernetes binaries, or the embedded API server.', ['kubernetes', 'embedded']),
      'the flavor of a control plane cannot change; make another cluster',
    ),
    'kubernetes',
  ),
  replicas: fallback(int('API servers.', { min: 1, max: 7 }), 1),
  etcd: fallback(
    obj('The store.', {
      // A rule of the number, not of the store: a server judges the store's default before the number is in it.
      replicas: fallback(
        rule(int('Members: 1, 3 or 5.', { min: 1, max: 5 }), {
          cel: 'self % 2 == 1',
          message: 'a store has 1, 3 or 5 members',
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
      'Further arguments of the parts, as part.flag, such as apiserver.audit-policy-file.',
      str('A value.', { max: 1_024 }),
      { max: 64 },
    ),
  ),
})

const addon = obj('One thing that the cluster must have before machines join.', {
  name: dnsLabel('Name of the addon.'),
  version: str('Its version.', { min: 1, max: 128 }),
  values: optional(freeform('Values for it.', { maxBytes: MAX_ADDON_BYTES })),
})

const spec = rule(
  union(
    obj('The cluster as it should be.', {
      version: optional(kubernetesVersion('Version of the control plane.')),
      controlPlane: optional(controlPlane),
      kubeconfigSecretRef: optional(
        secretRef('Secret in the same namespace with the kubeconfig of an existing cluster.'),
      ),
      network: optional(
        obj('Address ranges.', {
          podCIDR: optional(immutable(cidr('Range of pods.'), 'the range of pods cannot change')),
          serviceCIDR: optional(immutable(cidr('Range of services.'), 'the range of services cannot change')),
          dnsDomain: fallback(
            immutable(objectName('Domain of services.'), 'the domain cannot change'),
            'cluster.local',
          ),
        }),
      ),
      addons: optional(
        mapList('What the cluster must have before machines join.', addon, { keys: ['name'], max: MAX_ADDONS }),
      ),
      stage: optional(labelValue('Stage that the cluster belongs to; pipelines select by it.')),
      deletionPolicy: fallback(
        choice('What happens to a control plane on the hub when this object is deleted: it stays, or it goes.', [
          'Orphan',
          'Delete',
        ]),
        'Orphan',
      ),
      ttl: optional(duration('After this long the cluster is deleted; deletionPolicy Delete is needed.')),
    }),
    ['controlPlane', 'kubeconfigSecretRef'],
  ),
  {
    cel: 'has(self.controlPlane) ? has(self.version) : true',
    message: 'a control plane needs version',
    fieldPath: '.version',
    holds: (s) => s.controlPlane === undefined || s.version !== undefined,
  },
)

const specWithTtl = rule(spec, {
  cel: "has(self.ttl) ? self.deletionPolicy == 'Delete' : true",
  message: 'ttl needs deletionPolicy Delete',
  fieldPath: '.deletionPolicy',
  holds: (s) => s.ttl === undefined || s.deletionPolicy === 'Delete',
})

const status = obj('The cluster as it is.', {
  observedGeneration: optional(observedGeneration()),
  phase: optional(phase('Cluster')),
  endpoint: optional(url('Where its API server answers.')),
  kubeconfigSecret: optional(secretRef('Secret with the kubeconfig that was made.')),
  uid: optional(str('UID of its kube-system namespace, so that another cluster is seen as one.', { max: 64 })),
  versions: optional(
    mapList(
      'What runs.',
      obj('One part.', { part: dnsLabel('The part.'), version: str('Its version.', { max: 64 }) }),
      { keys: ['part'], max: 16 },
    ),
  ),
  history: optional(
    mapList(
      'Versions that it had; the last ten.',
      obj('One version.', {
        version: str('The version.', { max: 64 }),
        startedAt: time('When the change to it began.'),
        completedAt: optional(time('When it was complete.')),
        snapshot: optional(str('Name of the snapshot that was taken before.', { max: 253 })),
        message: optional(sentence('How it went.')),
      }),
      { keys: ['version', 'startedAt'], max: 10 },
    ),
  ),
  addons: optional(
    mapList(
      'The addons.',
      obj('One addon.', {
        name: dnsLabel('Name of the addon.'),
        version: str('The version that is applied.', { max: 128 }),
        healthy: choice('Whether it works.', ['True', 'False', 'Unknown']),
        message: optional(sentence('Why, for people.')),
      }),
      { keys: ['name'], max: MAX_ADDONS },
    ),
  ),
  machines: optional(
    obj('Its machines.', {
      total: int('All.', { min: 0, max: 1_000_000 }),
      ready: int('Those that are Ready.', { min: 0, max: 1_000_000 }),
    }),
  ),
  expiresAt: optional(time('When the time to live is over.')),
  lastSeen: optional(time('When it last answered; written at most once a minute.')),
  waitingFor: optional(waitingFor()),
  conditions: optional(conditions()),
})

export const cluster = defineKind({
  kind: 'Cluster',
  plural: 'clusters',
  shortNames: ['kcl'],
  namespaced: true,
  doc: 'A control plane: workloads on the hub, or an existing one registered by its kubeconfig.',
  spec: specWithTtl,
  status,
  selectable: ['.spec.stage'],
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Version', type: 'string', jsonPath: '.spec.version' },
    { name: 'Stage', type: 'string', jsonPath: '.spec.stage' },
    { name: 'Machines', type: 'integer', jsonPath: '.status.machines.total' },
    { name: 'Endpoint', type: 'string', jsonPath: '.status.endpoint', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  conditions: [
    'Ready',
    'Reconciling',
    'Stalled',
    'ControlPlaneReady',
    'EtcdHealthy',
    'AddonsReady',
    'Reachable',
    'Paused',
  ],
  example: {
    metadata: { name: 'prod-1', namespace: 'fleet' },
    spec: {
      version: '1.34.2',
      controlPlane: { replicas: 3, etcd: { replicas: 3, storage: '20Gi' }, resources: { cpu: '2', memory: '4Gi' } },
      network: { podCIDR: '10.244.0.0/16', serviceCIDR: '10.96.0.0/12' },
      addons: [{ name: 'coredns', version: '1.12.0' }],
      stage: 'prod',
      deletionPolicy: 'Orphan',
    },
  },
})

export type Cluster = ObjectOf<typeof cluster>
export type ClusterInput = InputOf<typeof cluster>
export type ClusterSpec = SpecOf<typeof cluster>
export type ClusterStatus = StatusOf<typeof cluster>
