// The volumes of a pod: where each kind of source keeps its fields.
import {
  always,
  bool,
  int32,
  int64,
  labelSelector,
  listOf,
  mapOf,
  pointer,
  quantity,
  str,
  struct,
  withDefault,
} from './shape.ts'
import type { BuiltinSchema } from './kind.ts'
import { objectMeta } from '../meta/object-meta.ts'

export const localReference: BuiltinSchema = struct(
  'LocalObjectReference',
  { name: str },
  { 'x-kubernetes-map-type': 'atomic' },
)
const localReferencePointer = pointer(localReference)

const keyToPath = struct('KeyToPath', { key: always(str), path: always(str), mode: pointer(int32) })
const items = listOf(keyToPath)
const DEFAULT_MODE = 420 // 0644

export const objectFieldSelector: BuiltinSchema = struct(
  'ObjectFieldSelector',
  { apiVersion: withDefault(str, 'v1'), fieldPath: always(str) },
  { 'x-kubernetes-map-type': 'atomic', 'x-go-field': 'pointer' },
)
export const resourceFieldSelector: BuiltinSchema = struct(
  'ResourceFieldSelector',
  { containerName: str, resource: always(str), divisor: withDefault(always(quantity), '0') },
  { 'x-kubernetes-map-type': 'atomic', 'x-go-field': 'pointer' },
)

const downwardFile = struct('DownwardAPIVolumeFile', {
  path: always(str),
  fieldRef: objectFieldSelector,
  resourceFieldRef: resourceFieldSelector,
  mode: pointer(int32),
})

const source = (goName: string, fields: Parameters<typeof struct>[1]): BuiltinSchema =>
  struct(goName, fields, { 'x-go-field': 'pointer' })

const projection = struct('VolumeProjection', {
  secret: source('SecretProjection', { name: str, items, optional: pointer(bool) }),
  configMap: source('ConfigMapProjection', { name: str, items, optional: pointer(bool) }),
  downwardAPI: source('DownwardAPIProjection', { items: listOf(downwardFile) }),
  serviceAccountToken: source('ServiceAccountTokenProjection', {
    audience: str,
    expirationSeconds: withDefault(pointer(int64), 3607),
    path: always(str),
  }),
  clusterTrustBundle: source('ClusterTrustBundleProjection', {
    name: pointer(str),
    signerName: pointer(str),
    labelSelector,
    optional: pointer(bool),
    path: always(str),
  }),
})

export const claimSpec: BuiltinSchema = struct('PersistentVolumeClaimSpec', {
  accessModes: listOf(str),
  selector: labelSelector,
  resources: always(struct('VolumeResourceRequirements', { limits: mapOf(quantity), requests: mapOf(quantity) })),
  volumeName: str,
  storageClassName: pointer(str),
  volumeMode: withDefault(pointer(str), 'Filesystem'),
  dataSource: pointer(
    struct(
      'TypedLocalObjectReference',
      { apiGroup: pointer(str), kind: always(str), name: always(str) },
      { 'x-kubernetes-map-type': 'atomic' },
    ),
  ),
  dataSourceRef: source('TypedObjectReference', {
    apiGroup: pointer(str),
    kind: always(str),
    name: always(str),
    namespace: pointer(str),
  }),
  volumeAttributesClassName: pointer(str),
})

export { objectMeta as templateMeta } from '../meta/object-meta.ts'

/** The path volume sources that only name something and how to mount it. */
const PLAIN_SOURCES: { readonly [field: string]: BuiltinSchema } = {
  gcePersistentDisk: source('GCEPersistentDiskVolumeSource', {
    pdName: always(str),
    fsType: str,
    partition: int32,
    readOnly: bool,
  }),
  awsElasticBlockStore: source('AWSElasticBlockStoreVolumeSource', {
    volumeID: always(str),
    fsType: str,
    partition: int32,
    readOnly: bool,
  }),
  nfs: source('NFSVolumeSource', { server: always(str), path: always(str), readOnly: bool }),
  iscsi: source('ISCSIVolumeSource', {
    targetPortal: always(str),
    iqn: always(str),
    lun: always(int32),
    iscsiInterface: withDefault(str, 'default'),
    fsType: str,
    readOnly: bool,
    portals: listOf(str),
    chapAuthDiscovery: bool,
    chapAuthSession: bool,
    secretRef: localReferencePointer,
    initiatorName: pointer(str),
  }),
  glusterfs: source('GlusterfsVolumeSource', { endpoints: always(str), path: always(str), readOnly: bool }),
  cephfs: source('CephFSVolumeSource', {
    monitors: always(listOf(str)),
    path: str,
    user: str,
    secretFile: str,
    secretRef: localReferencePointer,
    readOnly: bool,
  }),
  fc: source('FCVolumeSource', {
    targetWWNs: listOf(str),
    lun: pointer(int32),
    fsType: str,
    readOnly: bool,
    wwids: listOf(str),
  }),
  csi: source('CSIVolumeSource', {
    driver: always(str),
    readOnly: pointer(bool),
    fsType: pointer(str),
    volumeAttributes: mapOf(str),
    nodePublishSecretRef: localReferencePointer,
  }),
  rbd: source('RBDVolumeSource', {
    monitors: always(listOf(str)),
    image: always(str),
    fsType: str,
    pool: withDefault(str, 'rbd'),
    user: withDefault(str, 'admin'),
    keyring: withDefault(str, '/etc/ceph/keyring'),
    secretRef: localReferencePointer,
    readOnly: bool,
  }),
  azureDisk: source('AzureDiskVolumeSource', {
    diskName: always(str),
    diskURI: always(str),
    cachingMode: withDefault(pointer(str), 'ReadWrite'),
    fsType: withDefault(pointer(str), 'ext4'),
    readOnly: withDefault(pointer(bool), false),
    kind: withDefault(pointer(str), 'Shared'),
  }),
  azureFile: source('AzureFileVolumeSource', { secretName: always(str), shareName: always(str), readOnly: bool }),
  flexVolume: source('FlexVolumeSource', {
    driver: always(str),
    fsType: str,
    secretRef: localReferencePointer,
    readOnly: bool,
    options: mapOf(str),
  }),
  cinder: source('CinderVolumeSource', {
    volumeID: always(str),
    fsType: str,
    readOnly: bool,
    secretRef: localReferencePointer,
  }),
  vsphereVolume: source('VsphereVirtualDiskVolumeSource', {
    volumePath: always(str),
    fsType: str,
    storagePolicyName: str,
    storagePolicyID: str,
  }),
}

export const volume: BuiltinSchema = struct('Volume', {
  name: always(str),
  hostPath: source('HostPathVolumeSource', { path: always(str), type: withDefault(pointer(str), '') }),
  emptyDir: source('EmptyDirVolumeSource', { medium: str, sizeLimit: pointer(quantity) }),
  secret: source('SecretVolumeSource', {
    secretName: str,
    items,
    defaultMode: withDefault(pointer(int32), DEFAULT_MODE),
    optional: pointer(bool),
  }),
  configMap: source('ConfigMapVolumeSource', {
    name: str,
    items,
    defaultMode: withDefault(pointer(int32), DEFAULT_MODE),
    optional: pointer(bool),
  }),
  persistentVolumeClaim: source('PersistentVolumeClaimVolumeSource', { claimName: always(str), readOnly: bool }),
  downwardAPI: source('DownwardAPIVolumeSource', {
    items: listOf(downwardFile),
    defaultMode: withDefault(pointer(int32), DEFAULT_MODE),
  }),
  projected: source('ProjectedVolumeSource', {
    sources: listOf(projection),
    defaultMode: withDefault(pointer(int32), DEFAULT_MODE),
  }),
  ephemeral: source('EphemeralVolumeSource', {
    volumeClaimTemplate: source('PersistentVolumeClaimTemplate', { metadata: objectMeta, spec: always(claimSpec) }),
  }),
  image: source('ImageVolumeSource', { reference: str, pullPolicy: str }),
  ...PLAIN_SOURCES,
})
