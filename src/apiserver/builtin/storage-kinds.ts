// Volumes and what drives them: kept for the scheduler, the volume controllers and kubelets that list them; nothing here binds or attaches.
import { shortModes, text } from './core-columns.ts'
import { fields, listAt, shown, specOf, statusOf, text as textOf, textsAt } from './fields.ts'
import { keptKind, typeIn } from './kept-kind.ts'
import type { Column } from './kind.ts'
import {
  always,
  anything,
  bool,
  int32,
  int64,
  labelSelector,
  listOf,
  mapOf,
  pointer,
  quantity,
  setOf,
  str,
  struct,
  time,
  withDefault,
} from './shape.ts'

const storage = typeIn('storage.k8s.io')
const source = pointer(anything)

const nodeSelectorTerm = struct(
  'NodeSelectorTerm',
  {
    matchExpressions: listOf(
      struct('NodeSelectorRequirement', { key: always(str), operator: always(str), values: listOf(str) }),
    ),
    matchFields: listOf(
      struct('NodeSelectorRequirement', { key: always(str), operator: always(str), values: listOf(str) }),
    ),
  },
  { 'x-kubernetes-map-type': 'atomic' },
)
export const nodeSelector = struct(
  'NodeSelector',
  { nodeSelectorTerms: always(listOf(nodeSelectorTerm)) },
  { 'x-kubernetes-map-type': 'atomic', 'x-go-field': 'pointer' },
)

const SOURCES = [
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'hostPath',
  'glusterfs',
  'nfs',
  'rbd',
  'iscsi',
  'cinder',
  'cephfs',
  'fc',
  'flocker',
  'flexVolume',
  'azureFile',
  'vsphereVolume',
  'quobyte',
  'azureDisk',
  'photonPersistentDisk',
  'portworxVolume',
  'scaleIO',
  'local',
  'storageos',
  'csi',
]

const persistentVolume = keptKind({
  type: typeIn('')('PersistentVolume', 'persistentvolumes', false),
  shortNames: ['pv'],
  properties: {
    spec: always(
      struct('PersistentVolumeSpec', {
        ...Object.fromEntries(SOURCES.map((s) => [s, source])),
        capacity: mapOf(quantity),
        accessModes: listOf(str),
        claimRef: struct(
          'ObjectReference',
          { kind: str, namespace: str, name: str, uid: str, apiVersion: str, resourceVersion: str, fieldPath: str },
          { 'x-kubernetes-map-type': 'granular', 'x-go-field': 'pointer' },
        ),
        persistentVolumeReclaimPolicy: withDefault(str, 'Retain'),
        storageClassName: str,
        mountOptions: listOf(str),
        volumeMode: withDefault(pointer(str), 'Filesystem'),
        nodeAffinity: pointer(struct('VolumeNodeAffinity', { required: nodeSelector })),
        volumeAttributesClassName: pointer(str),
      }),
    ),
    status: always(
      struct('PersistentVolumeStatus', { phase: str, message: str, reason: str, lastPhaseTransitionTime: time }),
    ),
  },
  prepareForCreate: (o) => ({ ...o, status: { phase: 'Pending' } }),
  shows: [
    text('Capacity', (o) => textOf(fields(specOf(o)['capacity'])['storage'])),
    text('Access Modes', (o) => shortModes(textsAt(specOf(o), 'accessModes'))),
    text('Reclaim Policy', (o) => textOf(specOf(o)['persistentVolumeReclaimPolicy'])),
    text('Status', (o) => textOf(statusOf(o)['phase'])),
    text('Claim', (o) => {
      const claim = fields(specOf(o)['claimRef'])
      return textOf(claim['name']) === '' ? '' : `${textOf(claim['namespace'])}/${textOf(claim['name'])}`
    }),
    text('StorageClass', (o) => textOf(specOf(o)['storageClassName'])),
    text('VolumeAttributesClass', (o) => textOf(specOf(o)['volumeAttributesClassName']) || '<unset>'),
    text('Reason', (o) => textOf(statusOf(o)['reason'])),
  ],
  wide: [text('VolumeMode', (o) => textOf(specOf(o)['volumeMode']), 1)],
})

const csiNode = keptKind({
  type: storage('CSINode', 'csinodes', false),
  properties: {
    spec: always(
      struct('CSINodeSpec', {
        drivers: always({
          ...listOf(
            struct('CSINodeDriver', {
              name: always(str),
              nodeID: always(str),
              topologyKeys: always(listOf(str)),
              allocatable: pointer(struct('VolumeNodeResources', { count: pointer(int32) })),
            }),
          ),
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        }),
      }),
    ),
  },
  shows: [
    {
      name: 'Drivers',
      type: 'integer',
      cell: (o) => (Array.isArray(specOf(o)['drivers']) ? (specOf(o)['drivers'] as readonly unknown[]).length : 0),
    },
  ],
})

const flag = (name: string, field: string, otherwise: boolean): Column => ({
  name,
  type: 'boolean',
  cell: (o) => (typeof specOf(o)[field] === 'boolean' ? specOf(o)[field] === true : otherwise),
})

const csiDriver = keptKind({
  type: storage('CSIDriver', 'csidrivers', false),
  properties: {
    spec: always(
      struct('CSIDriverSpec', {
        attachRequired: withDefault(pointer(bool), true),
        podInfoOnMount: withDefault(pointer(bool), false),
        volumeLifecycleModes: setOf(str, { default: ['Persistent'] }),
        storageCapacity: withDefault(pointer(bool), false),
        fsGroupPolicy: withDefault(pointer(str), 'ReadWriteOnceWithFSType'),
        tokenRequests: listOf(struct('TokenRequest', { audience: always(str), expirationSeconds: pointer(int64) })),
        requiresRepublish: withDefault(pointer(bool), false),
        seLinuxMount: withDefault(pointer(bool), false),
        nodeAllocatableUpdatePeriodSeconds: pointer(int64),
        serviceAccountTokenInSecrets: pointer(bool),
      }),
    ),
  },
  shows: [
    flag('AttachRequired', 'attachRequired', true),
    flag('PodInfoOnMount', 'podInfoOnMount', false),
    flag('StorageCapacity', 'storageCapacity', false),
    text('TokenRequests', (o) => {
      const asked = listAt(specOf(o), 'tokenRequests').map((t) => textOf(t['audience']))
      return asked.length === 0 ? '<unset>' : asked.join(',')
    }),
    flag('RequiresRepublish', 'requiresRepublish', false),
    text('Modes', (o) => textsAt(specOf(o), 'volumeLifecycleModes').join(',') || '<none>'),
  ],
})

const csiStorageCapacity = keptKind({
  type: storage('CSIStorageCapacity', 'csistoragecapacities', true),
  properties: {
    nodeTopology: labelSelector,
    storageClassName: always(str),
    capacity: pointer(quantity),
    maximumVolumeSize: pointer(quantity),
  },
  shows: [{ name: 'Created At', type: 'date', cell: (o) => o.metadata.creationTimestamp ?? '' }],
  ageless: true,
})

const volumeError = pointer(struct('VolumeError', { time, message: str, errorCode: pointer(int32) }))

const volumeAttachment = keptKind({
  type: storage('VolumeAttachment', 'volumeattachments', false),
  properties: {
    spec: always(
      struct('VolumeAttachmentSpec', {
        attacher: always(str),
        source: always(
          struct('VolumeAttachmentSource', { persistentVolumeName: pointer(str), inlineVolumeSpec: source }),
        ),
        nodeName: always(str),
      }),
    ),
    status: always(
      struct('VolumeAttachmentStatus', {
        attached: always(bool),
        attachmentMetadata: mapOf(str),
        attachError: volumeError,
        detachError: volumeError,
      }),
    ),
  },
  shows: [
    { ...text('Attacher', (o) => textOf(specOf(o)['attacher'])), format: 'name' },
    text('PV', (o) => shown(fields(specOf(o)['source'])['persistentVolumeName'])),
    text('Node', (o) => textOf(specOf(o)['nodeName'])),
    { name: 'Attached', type: 'boolean', cell: (o) => statusOf(o)['attached'] === true },
  ],
})

const volumeAttributesClass = keptKind({
  type: storage('VolumeAttributesClass', 'volumeattributesclasses', false),
  shortNames: ['vac'],
  properties: { driverName: always(str), parameters: mapOf(str) },
  shows: [text('DriverName', (o) => textOf(o['driverName']))],
})

export const storageKinds = [
  persistentVolume,
  csiNode,
  csiDriver,
  csiStorageCapacity,
  volumeAttachment,
  volumeAttributesClass,
] as const
