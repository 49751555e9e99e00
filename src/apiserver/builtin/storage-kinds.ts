// Volumes and what drives them: kept for the scheduler, the volume controllers and kubelets that list them; nothing here binds or attaches.
import { shortModes, text } from './core-columns.ts'
import { fields, listAt, shown, specOf, statusOf, text as textOf, textsAt } from './fields.ts'
import { keptKind, typeIn } from './kept-kind.ts'
import type { Column } from './kind.ts'
import * as s from './shape.ts'

const storage = typeIn('storage.k8s.io')
const source = s.pointer(s.anything)

const nodeSelectorTerm = s.struct(
  'NodeSelectorTerm',
  {
    matchExpressions: s.listOf(
      s.struct('NodeSelectorRequirement', { key: s.always(s.str), operator: s.always(s.str), values: s.listOf(s.str) }),
    ),
    matchFields: s.listOf(
      s.struct('NodeSelectorRequirement', { key: s.always(s.str), operator: s.always(s.str), values: s.listOf(s.str) }),
    ),
  },
  { 'x-kubernetes-map-type': 'atomic' },
)
const nodeSelector = s.struct(
  'NodeSelector',
  { nodeSelectorTerms: s.always(s.listOf(nodeSelectorTerm)) },
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
    spec: s.always(
      s.struct('PersistentVolumeSpec', {
        ...Object.fromEntries(SOURCES.map((s) => [s, source])),
        capacity: s.mapOf(s.quantity),
        accessModes: s.listOf(s.str),
        claimRef: s.objectReference({ 'x-kubernetes-map-type': 'granular', 'x-go-field': 'pointer' }),
        persistentVolumeReclaimPolicy: s.withDefault(s.str, 'Retain'),
        storageClassName: s.str,
        mountOptions: s.listOf(s.str),
        volumeMode: s.withDefault(s.pointer(s.str), 'Filesystem'),
        nodeAffinity: s.pointer(s.struct('VolumeNodeAffinity', { required: nodeSelector })),
        volumeAttributesClassName: s.pointer(s.str),
      }),
    ),
    status: s.always(
      s.struct('PersistentVolumeStatus', {
        phase: s.str,
        message: s.str,
        reason: s.str,
        lastPhaseTransitionTime: s.time,
      }),
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
    spec: s.always(
      s.struct('CSINodeSpec', {
        drivers: s.always({
          ...s.listOf(
            s.struct('CSINodeDriver', {
              name: s.always(s.str),
              nodeID: s.always(s.str),
              topologyKeys: s.always(s.listOf(s.str)),
              allocatable: s.pointer(s.struct('VolumeNodeResources', { count: s.pointer(s.int32) })),
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
    spec: s.always(
      s.struct('CSIDriverSpec', {
        attachRequired: s.withDefault(s.pointer(s.bool), true),
        podInfoOnMount: s.withDefault(s.pointer(s.bool), false),
        volumeLifecycleModes: s.setOf(s.str, { default: ['Persistent'] }),
        storageCapacity: s.withDefault(s.pointer(s.bool), false),
        fsGroupPolicy: s.withDefault(s.pointer(s.str), 'ReadWriteOnceWithFSType'),
        tokenRequests: s.listOf(
          s.struct('TokenRequest', { audience: s.always(s.str), expirationSeconds: s.pointer(s.int64) }),
        ),
        requiresRepublish: s.withDefault(s.pointer(s.bool), false),
        seLinuxMount: s.withDefault(s.pointer(s.bool), false),
        nodeAllocatableUpdatePeriodSeconds: s.pointer(s.int64),
        serviceAccountTokenInSecrets: s.pointer(s.bool),
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
    nodeTopology: s.labelSelector,
    storageClassName: s.always(s.str),
    capacity: s.pointer(s.quantity),
    maximumVolumeSize: s.pointer(s.quantity),
  },
  shows: [{ name: 'Created At', type: 'date', cell: (o) => o.metadata.creationTimestamp ?? '' }],
  ageless: true,
})

const volumeError = s.pointer(s.struct('VolumeError', { time: s.time, message: s.str, errorCode: s.pointer(s.int32) }))

const volumeAttachment = keptKind({
  type: storage('VolumeAttachment', 'volumeattachments', false),
  properties: {
    spec: s.always(
      s.struct('VolumeAttachmentSpec', {
        attacher: s.always(s.str),
        source: s.always(
          s.struct('VolumeAttachmentSource', { persistentVolumeName: s.pointer(s.str), inlineVolumeSpec: source }),
        ),
        nodeName: s.always(s.str),
      }),
    ),
    status: s.always(
      s.struct('VolumeAttachmentStatus', {
        attached: s.always(s.bool),
        attachmentMetadata: s.mapOf(s.str),
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
  properties: { driverName: s.always(s.str), parameters: s.mapOf(s.str) },
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
