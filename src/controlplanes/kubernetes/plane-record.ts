// The hub's state of one control plane besides its objects: an annotation of its namespace, only written over the version that was read. After a kill, the host
// or another leader continues from it.
import { commonLabels } from '#api/constructs/control-plane/labels.ts'
import type { Part } from '#api/constructs/control-plane/settings.ts'
import { ANNOTATIONS, CONTROL_PLANE_PREFIX } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ControlPlaneShape, Snapshot } from '../port.ts'
import type { MemberCare } from './member-state.ts'
import type { StoreCare } from './store-state.ts'
import type { BlockedVersion, Form, UpgradeRecord } from '../upgrade/seen.ts'
import { sha256Hex } from '#lib/sha256.ts'

const ANNOTATION = ANNOTATIONS.controlPlane
const LABEL = ANNOTATIONS.controlPlane
const MOST_NAME_CHARS = 63
const namespaces = coreKind('Namespace')

/** Snapshots use a fixed set of files that are overwritten: etcd's image has no program that could delete one. */
export interface KeptSnapshot extends Snapshot {
  readonly slot: number
  /** Number of the oldest key that may seal a Secret in it, if known. */
  readonly sealedWith?: number
}

export interface PlaneRecord {
  readonly id: string
  readonly owner: string
  /** Cluster token of its etcd members. */
  readonly etcdToken: string
  /** A majority of its members served once: from then on no member with an empty volume starts a new store. */
  readonly isFounded?: boolean
  /** All of its members served together once: from then on none starts with an empty volume unless it was removed and added. */
  readonly isWhole?: boolean
  /** No API server of it has answered yet. Its controller managers and schedulers start after one has: before, they would only crash. */
  readonly isUnserved?: boolean
  /** Since members wait for nodes of their own; those of an older control plane may share one, and would be restarted to be told. */
  readonly hasOwnNodes?: boolean
  readonly shape: ControlPlaneShape
  /** For a Cluster that declares no images: the hub's at its creation, since later ones would replace all pods on the hub at once. */
  readonly defaultResources?: ControlPlaneShape['resources']
  readonly forms: Readonly<Record<Part, Form>>
  /** Fixed before certificates are created, and never changed. */
  readonly address?: { readonly host: string; readonly port: number; readonly nodePort?: number }
  /** The requested port. */
  readonly port?: number
  readonly isStopped: boolean
  /** Its etcd runs for a snapshot although it is stopped. */
  readonly isAwake?: boolean
  readonly snapshots: readonly KeptSnapshot[]
  /** File sizes on the snapshot volume by slot, including files of dropped snapshots. */
  readonly files?: Readonly<Record<string, number>>
  /** A file being written: its earlier content no longer counts. */
  readonly taking?: {
    readonly name: string
    readonly slot: number
    readonly version: string
    /** Same as for a snapshot, from the moment it started. */
    readonly sealedWith?: number
    /** The last attempt. */
    readonly failed?: { readonly at: number; readonly why: string }
  }
  /** How full its etcd is, and what is being done about it. */
  readonly store?: StoreCare
  /** A lost member and its replacement. */
  readonly members?: MemberCare
  readonly restored?: string
  readonly restoring?: Restoring
  /** State of the key that seals its Secrets, if it was replaced. */
  readonly sealed?: SealedRecord
  /** How many restores were started. */
  readonly restores?: number
  readonly upgrade?: UpgradeRecord
  readonly blocked: readonly BlockedVersion[]
  /** Since when parts have not been ready, in milliseconds. */
  readonly unready: Readonly<Partial<Record<Part, number>>>
  /** Since when less than a majority of etcd has been ready, in milliseconds. */
  readonly noQuorumSince?: number
  /** It was deleted; only the snapshot volume is left, until this time. */
  readonly keptUntil?: number
}

export interface SealedRecord {
  /** All Secrets were written with this key, unless a snapshot was restored since. */
  readonly all?: { readonly with: number; readonly restores: number }
  /** The last attempt that did not reach all of them. */
  readonly failed?: { readonly at: number; readonly objects: readonly string[]; readonly why: string }
}

interface Restoring {
  readonly snapshot: string
  readonly slot: number
  readonly token: string
}

/**
 * Counted, because revisions after a second restore of the same snapshot must differ from those of the first. A snapshot already in progress may capture the
 * restored state.
 */
export function beginRestore({ taking, ...record }: PlaneRecord, restoring: Restoring): PlaneRecord {
  const { sealedWith: _, ...begun } = taking ?? { name: '' }
  return {
    ...record,
    ...('slot' in begun && { taking: begun }),
    restores: (record.restores ?? 0) + 1,
    restoring,
  }
}

/** Number of the key that seals all Secrets of the store. A restore may have brought back content of an older key. */
export const sealsAll = ({ sealed, restores = 0 }: PlaneRecord): number | undefined =>
  sealed?.all?.restores === restores ? sealed.all.with : undefined

/** The record with the namespace it was read from. */
export interface Kept {
  readonly record: PlaneRecord
  readonly namespace: KubeObject
}

/** Shortened names include a digest, so that no two are equal. */
export function planeNamespace(id: string): string {
  const name = `${CONTROL_PLANE_PREFIX}${id.replaceAll('.', '-')}`
  if (name.length <= MOST_NAME_CHARS) return name
  const digest = sha256Hex(id).slice(0, 10)
  return `${name.slice(0, MOST_NAME_CHARS - digest.length - 1)}-${digest}`
}

/** A manual edit must not make the record count as missing, so every other field is optional. */
const isRecord = (value: unknown): value is PlaneRecord =>
  isObject(value) &&
  ['id', 'owner', 'etcdToken'].every((field) => typeof value[field] === 'string') &&
  ['shape', 'forms', 'unready'].every((field) => isObject(value[field])) &&
  ['snapshots', 'blocked'].every((field) => Array.isArray(value[field]))

/** The record of a running control plane is missing. Treating the control plane as absent would leave it all behind, or create another one over it. */
const isLost = ({ metadata: { labels = {} } }: KubeObject, id: string): boolean =>
  Object.entries({ ...commonLabels({ cluster: id }), [LABEL]: 'true' }).every(([key, value]) => labels[key] === value)

function recordIn({ metadata }: KubeObject): PlaneRecord | undefined {
  const text = metadata.annotations?.[ANNOTATION]
  try {
    const record: unknown = JSON.parse(text ?? '')
    return isRecord(record) ? record : undefined
  } catch {
    return undefined
  }
}

export class PlaneRecords {
  readonly #client: KubeClient
  readonly #fieldManager: string

  constructor(client: KubeClient, fieldManager: string) {
    this.#client = client
    this.#fieldManager = fieldManager
  }

  /** `Taken`: the namespace belongs to another control plane, or a user created it. */
  async read(id: string, signal?: AbortSignal): Promise<Kept | 'Taken' | undefined> {
    const key = { name: planeNamespace(id) }
    const namespace = await this.#client.get(namespaces, key, defined({ signal }))
    if (namespace === undefined) return undefined
    const record = recordIn(namespace)
    if (record === undefined && isLost(namespace, id))
      throw new Error(
        `the annotation ${ANNOTATION} of namespace ${key.name}, the record of this control plane, is missing or damaged; put it back from a backup, or delete the namespace with everything in it`,
      )
    return record?.id === id ? { record, namespace } : 'Taken'
  }

  async all(signal?: AbortSignal): Promise<readonly Kept[]> {
    const found = await listAll(this.#client, namespaces, { labelSelector: LABEL, ...defined({ signal }) })
    return found.flatMap((namespace) => {
      const record = recordIn(namespace)
      return record === undefined ? [] : [{ record, namespace }]
    })
  }

  async create(record: PlaneRecord, labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<Kept> {
    const metadata = {
      name: planeNamespace(record.id),
      labels: { ...labels, [LABEL]: 'true' },
      annotations: { [ANNOTATION]: JSON.stringify(record) },
    }
    const object: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata }
    const options = { fieldManager: this.#fieldManager, ...defined({ signal }) }
    return { record, namespace: await this.#client.create(namespaces, object, options) }
  }

  /** Throws a Conflict if another client wrote in between: its change was not considered. */
  async write({ namespace }: Kept, record: PlaneRecord, signal?: AbortSignal): Promise<Kept> {
    const annotations = { ...namespace.metadata.annotations, [ANNOTATION]: JSON.stringify(record) }
    if (annotations[ANNOTATION] === namespace.metadata.annotations?.[ANNOTATION]) return { record, namespace }
    const next = { ...namespace, metadata: { ...namespace.metadata, annotations } }
    const options = { fieldManager: this.#fieldManager, ...defined({ signal }) }
    return { record, namespace: await this.#client.update(namespaces, next, options) }
  }
}

/** For a control plane with a single snapshot left. */
export const emptied = (
  { id, owner, etcdToken, shape, forms, snapshots, files }: PlaneRecord,
  snapshot: string,
  { keptUntil, oldestKey }: { readonly keptUntil: number; readonly oldestKey?: number | undefined },
): PlaneRecord => ({
  id,
  owner,
  etcdToken,
  shape,
  forms,
  isStopped: true,
  // It can only need the keys held at that time: without the oldest one a new key would be created that opens nothing.
  snapshots: snapshots.filter((s) => s.name === snapshot).map((s) => ({ ...defined({ sealedWith: oldestKey }), ...s })),
  ...defined({ files }),
  blocked: [],
  unready: {},
  keptUntil,
})

export const namespaceLabels = (id: string): Readonly<Record<string, string>> => ({
  ...commonLabels({ cluster: id }),
  ...Object.fromEntries(
    ['enforce', 'audit', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']),
  ),
})
