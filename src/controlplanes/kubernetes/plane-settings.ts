// Turns a control plane's record into the settings of its objects. Pure.
import { PARTS, type ControlPlaneSettings, type Part } from '#api/constructs/control-plane/settings.ts'
import { minorOf } from '#api/constructs/control-plane/settings.ts'
import { type ControlPlaneShape, DEFAULT_NETWORK } from '../port.ts'
import { etcdMinor } from '../upgrade/preflight.ts'
import type { Form } from '../upgrade/seen.ts'
import { planeNamespace, type PlaneRecord } from './plane-record.ts'
import { reachable } from './reachable.ts'
import type { ServedVersion } from './version-file.ts'

export const DEFAULT_SHAPE: ControlPlaneShape = {
  replicas: 1,
  etcd: { members: 1, storage: '8Gi' },
  endpoint: { type: 'ClusterIP' },
  network: DEFAULT_NETWORK,
  resources: {},
  extraArgs: {},
}

const DEFAULT_PORT = 6443

export const formsOf = ({ version, etcd }: ServedVersion): Readonly<Record<Part, Form>> => {
  const form = { version, emulates: minorOf(version) ?? 0 }
  return {
    etcd: { version: etcd, emulates: etcdMinor(etcd) ?? 0 },
    apiserver: form,
    'controller-manager': form,
    scheduler: form,
  }
}

/** The new shape. etcd, endpoint and network do not change. */
export function nextShape(
  before: ControlPlaneShape | undefined,
  wanted: Partial<ControlPlaneShape> = {},
): ControlPlaneShape {
  const { replicas, etcd, endpoint, network, resources, extraArgs } = { ...DEFAULT_SHAPE, ...before, ...wanted }
  return {
    replicas,
    etcd: before?.etcd ?? etcd,
    endpoint: before?.endpoint ?? endpoint,
    network: before?.network ?? network,
    resources,
    extraArgs,
  }
}

type Wanted = Partial<ControlPlaneShape>

export const withResources = (wanted: Wanted = {}, resources: ControlPlaneShape['resources'] = {}): Wanted =>
  Object.keys(wanted.resources ?? {}).length > 0 ? wanted : { ...wanted, resources }

export function withStorageClass(wanted: Wanted, storageClass: string | undefined): Wanted {
  const { etcd = DEFAULT_SHAPE.etcd } = wanted
  return storageClass === undefined || etcd.storageClass !== undefined
    ? wanted
    : { ...wanted, etcd: { ...etcd, storageClass } }
}

export type CredentialSettings = Pick<ControlPlaneSettings, 'credentials' | 'oldTokenKeys'>

/** Before credentials exist, only the endpoint's Service is rendered from it. */
export const NO_CREDENTIALS: CredentialSettings = {
  credentials: { etcd: '', apiserver: '', 'controller-manager': '', scheduler: '' },
  oldTokenKeys: 0,
}

/** Undefined if the version file lacks the image of a running version. */
export function settingsOf(
  record: PlaneRecord,
  rows: readonly ServedVersion[],
  credentials: CredentialSettings,
  running: ControlPlaneSettings['running'] = runningOf(record),
): ControlPlaneSettings | undefined {
  const { id, shape, forms, address, port } = record
  const images = PARTS.map((part) => imageOf(rows, part, forms[part]))
  if (images.includes(undefined)) return undefined
  return {
    cluster: id,
    namespace: planeNamespace(id),
    parts: Object.fromEntries(
      PARTS.map((part, n) => [part, { ...forms[part], image: images[n] }]),
    ) as ControlPlaneSettings['parts'],
    replicas: shape.replicas,
    running,
    etcd: {
      ...shape.etcd,
      keepsVolumes: false,
      hasOwnNodes: record.hasOwnNodes === true,
      isFounded: record.isFounded === true,
      startsEmpty: record.isWhole !== true || record.members?.replacing?.step === 'join',
      token: record.etcdToken,
      snapshotStorage: tripled(shape.etcd.storage),
    },
    endpoint: {
      type: shape.endpoint.type,
      host: address?.host ?? '',
      port: address?.port ?? port ?? DEFAULT_PORT,
      ...nodePortOf(record),
    },
    network: shape.network,
    reachable: reachable([], []),
    resources: shape.resources,
    extraArgs: shape.extraArgs,
    ...credentials,
    imagePullSecrets: [],
  }
}

const nodePortOf = ({ shape, address, port }: PlaneRecord): { readonly nodePort?: number } => {
  const nodePort = address?.nodePort ?? port
  return shape.endpoint.type === 'NodePort' && nodePort !== undefined ? { nodePort } : {}
}

function imageOf(rows: readonly ServedVersion[], part: Part, { version }: Form): string | undefined {
  const row = rows.find((r) => (part === 'etcd' ? r.etcd === version : r.version === version))
  return row?.images[part]
}

const runningOf = ({ isStopped, isAwake, restoring, isUnserved }: PlaneRecord): ControlPlaneSettings['running'] => {
  if (restoring !== undefined) return 'Nothing'
  if (!isStopped) return isUnserved === true ? 'Servers' : 'All'
  return isAwake === true ? 'Etcd' : 'Nothing'
}

/** A store takes at most three quarters of its volume, so there is always room for three snapshots and the one being written. */
const tripled = (storage: string): string => storage.replace(/^\d+(\.\d+)?/, (count) => String(Number(count) * 3))
