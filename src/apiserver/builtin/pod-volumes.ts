// The volumes of a pod: where each kind of source keeps its fields.
import * as s from './shape.ts'
import type { BuiltinSchema } from './kind.ts'
import { objectMeta } from '../meta/object-meta.ts'

export const localReference: BuiltinSchema = s.struct(
  'LocalObjectReference',
  { name: s.str },
  { 'x-kubernetes-map-type': 'atomic' },
)
const localReferencePointer = s.pointer(localReference)

const keyToPath = s.struct('KeyToPath', { key: s.always(s.str), path: s.always(s.str), mode: s.pointer(s.int32) })
const items = s.listOf(keyToPath)
const DEFAULT_MODE = 420 // 0644

export const objectFieldSelector: BuiltinSchema = s.struct(
  'ObjectFieldSelector',
  { apiVersion: s.withDefault(s.str, 'v1'), fieldPath: s.always(s.str) },
  { 'x-kubernetes-map-type': 'atomic', 'x-go-field': 'pointer' },
)
export const resourceFieldSelector: BuiltinSchema = s.struct(
  'ResourceFieldSelector',
  { containerName: s.str, resource: s.always(s.str), divisor: s.withDefault(s.always(s.quantity), '0') },
  { 'x-kubernetes-map-type': 'atomic', 'x-go-field': 'pointer' },
)

const downwardFile = s.struct('DownwardAPIVolumeFile', {
  path: s.always(s.str),
  fieldRef: objectFieldSelector,
  resourceFieldRef: resourceFieldSelector,
  mode: s.pointer(s.int32),
})

const source = (goName: string, fields: Parameters<typeof s.struct>[1]): BuiltinSchema =>
  s.struct(goName, fields, { 'x-go-field': 'pointer' })

const projection = s.struct('VolumeProjection', {
  secret: source('SecretProjection', { name: s.str, items, optional: s.pointer(s.bool) }),
  configMap: source('ConfigMapProjection', { name: s.str, items, optional: s.pointer(s.bool) }),
  downwardAPI: source('DownwardAPIProjection', { items: s.listOf(downwardFile) }),
  serviceAccountToken: source('ServiceAccountTokenProjection', {
    audience: s.str,
    expirationSeconds: s.withDefault(s.pointer(s.int64), 3607),
    path: s.always(s.str),
  }),
  clusterTrustBundle: source('ClusterTrustBundleProjection', {
    name: s.pointer(s.str),
    signerName: s.pointer(s.str),
    labelSelector: s.labelSelector,
    optional: s.pointer(s.bool),
    path: s.always(s.str),
  }),
})

export const claimSpec: BuiltinSchema = s.struct('PersistentVolumeClaimSpec', {
  accessModes: s.listOf(s.str),
  selector: s.labelSelector,
  resources: s.always(
    s.struct('VolumeResourceRequirements', { limits: s.mapOf(s.quantity), requests: s.mapOf(s.quantity) }),
  ),
  volumeName: s.str,
  storageClassName: s.pointer(s.str),
  volumeMode: s.withDefault(s.pointer(s.str), 'Filesystem'),
  dataSource: s.pointer(
    s.struct(
      'TypedLocalObjectReference',
      { apiGroup: s.pointer(s.str), kind: s.always(s.str), name: s.always(s.str) },
      { 'x-kubernetes-map-type': 'atomic' },
    ),
  ),
  dataSourceRef: source('TypedObjectReference', {
    apiGroup: s.pointer(s.str),
    kind: s.always(s.str),
    name: s.always(s.str),
    namespace: s.pointer(s.str),
  }),
  volumeAttributesClassName: s.pointer(s.str),
})

export { objectMeta as templateMeta } from '../meta/object-meta.ts'

/** The path volume sources that only name something and how to mount it. */
const PLAIN_SOURCES: { readonly [field: string]: BuiltinSchema } = {
  gcePersistentDisk: source('GCEPersistentDiskVolumeSource', {
    pdName: s.always(s.str),
    fsType: s.str,
    partition: s.int32,
    readOnly: s.bool,
  }),
  awsElasticBlockStore: source('AWSElasticBlockStoreVolumeSource', {
    volumeID: s.always(s.str),
    fsType: s.str,
    partition: s.int32,
    readOnly: s.bool,
  }),
  nfs: source('NFSVolumeSource', { server: s.always(s.str), path: s.always(s.str), readOnly: s.bool }),
  iscsi: source('ISCSIVolumeSource', {
    targetPortal: s.always(s.str),
    iqn: s.always(s.str),
    lun: s.always(s.int32),
    iscsiInterface: s.withDefault(s.str, 'default'),
    fsType: s.str,
    readOnly: s.bool,
    portals: s.listOf(s.str),
    chapAuthDiscovery: s.bool,
    chapAuthSession: s.bool,
    secretRef: localReferencePointer,
    initiatorName: s.pointer(s.str),
  }),
  glusterfs: source('GlusterfsVolumeSource', { endpoints: s.always(s.str), path: s.always(s.str), readOnly: s.bool }),
  cephfs: source('CephFSVolumeSource', {
    monitors: s.always(s.listOf(s.str)),
    path: s.str,
    user: s.str,
    secretFile: s.str,
    secretRef: localReferencePointer,
    readOnly: s.bool,
  }),
  fc: source('FCVolumeSource', {
    targetWWNs: s.listOf(s.str),
    lun: s.pointer(s.int32),
    fsType: s.str,
    readOnly: s.bool,
    wwids: s.listOf(s.str),
  }),
  csi: source('CSIVolumeSource', {
    driver: s.always(s.str),
    readOnly: s.pointer(s.bool),
    fsType: s.pointer(s.str),
    volumeAttributes: s.mapOf(s.str),
    nodePublishSecretRef: localReferencePointer,
  }),
  rbd: source('RBDVolumeSource', {
    monitors: s.always(s.listOf(s.str)),
    image: s.always(s.str),
    fsType: s.str,
    pool: s.withDefault(s.str, 'rbd'),
    user: s.withDefault(s.str, 'admin'),
    keyring: s.withDefault(s.str, '/etc/ceph/keyring'),
    secretRef: localReferencePointer,
    readOnly: s.bool,
  }),
  azureDisk: source('AzureDiskVolumeSource', {
    diskName: s.always(s.str),
    diskURI: s.always(s.str),
    cachingMode: s.withDefault(s.pointer(s.str), 'ReadWrite'),
    fsType: s.withDefault(s.pointer(s.str), 'ext4'),
    readOnly: s.withDefault(s.pointer(s.bool), false),
    kind: s.withDefault(s.pointer(s.str), 'Shared'),
  }),
  azureFile: source('AzureFileVolumeSource', {
    secretName: s.always(s.str),
    shareName: s.always(s.str),
    readOnly: s.bool,
  }),
  flexVolume: source('FlexVolumeSource', {
    driver: s.always(s.str),
    fsType: s.str,
    secretRef: localReferencePointer,
    readOnly: s.bool,
    options: s.mapOf(s.str),
  }),
  cinder: source('CinderVolumeSource', {
    volumeID: s.always(s.str),
    fsType: s.str,
    readOnly: s.bool,
    secretRef: localReferencePointer,
  }),
  vsphereVolume: source('VsphereVirtualDiskVolumeSource', {
    volumePath: s.always(s.str),
    fsType: s.str,
    storagePolicyName: s.str,
    storagePolicyID: s.str,
  }),
}

export const volume: BuiltinSchema = s.struct('Volume', {
  name: s.always(s.str),
  hostPath: source('HostPathVolumeSource', { path: s.always(s.str), type: s.withDefault(s.pointer(s.str), '') }),
  emptyDir: source('EmptyDirVolumeSource', { medium: s.str, sizeLimit: s.pointer(s.quantity) }),
  secret: source('SecretVolumeSource', {
    secretName: s.str,
    items,
    defaultMode: s.withDefault(s.pointer(s.int32), DEFAULT_MODE),
    optional: s.pointer(s.bool),
  }),
  configMap: source('ConfigMapVolumeSource', {
    name: s.str,
    items,
    defaultMode: s.withDefault(s.pointer(s.int32), DEFAULT_MODE),
    optional: s.pointer(s.bool),
  }),
  persistentVolumeClaim: source('PersistentVolumeClaimVolumeSource', { claimName: s.always(s.str), readOnly: s.bool }),
  downwardAPI: source('DownwardAPIVolumeSource', {
    items: s.listOf(downwardFile),
    defaultMode: s.withDefault(s.pointer(s.int32), DEFAULT_MODE),
  }),
  projected: source('ProjectedVolumeSource', {
    sources: s.listOf(projection),
    defaultMode: s.withDefault(s.pointer(s.int32), DEFAULT_MODE),
  }),
  ephemeral: source('EphemeralVolumeSource', {
    volumeClaimTemplate: source('PersistentVolumeClaimTemplate', { metadata: objectMeta, spec: s.always(claimSpec) }),
  }),
  image: source('ImageVolumeSource', { reference: s.str, pullPolicy: s.str }),
  ...PLAIN_SOURCES,
})
