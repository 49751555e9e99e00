// What the hub keeps of one control plane beside its objects: an annotation of its namespace, written only over the version that was read. A host that was
// killed, or another leader, continues from it.
import { createHash } from 'node:crypto'
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

const ANNOTATION = ANNOTATIONS.controlPlane
const LABEL = ANNOTATIONS.controlPlane
const MOST_NAME_CHARS = 63
const namespaces = coreKind('Namespace')

/** The file of a snapshot is one of a few that are written again and again: no program that could remove files is in the image of etcd. */
export interface KeptSnapshot extends Snapshot {
  readonly slot: number
  /** Number of the oldest key that a Secret in it may be sealed with, where that is known. */
  readonly sealedWith?: number
}

export interface PlaneRecord {
  readonly id: string
  readonly owner: string
  /** Of the members of its etcd. */
  readonly etcdToken: string
  /** A majority of its members served once: from then on none with an empty volume begins a store of its own. */
  readonly isFounded?: boolean
  /** All of its members served together once: from then on none starts with an empty volume, unless it was removed and added. */
  readonly isWhole?: boolean
  readonly shape: ControlPlaneShape
  readonly forms: Readonly<Record<Part, Form>>
  /** Settled before certificates are made, and never moved. */
  readonly address?: { readonly host: string; readonly port: number; readonly nodePort?: number }
  /** The port that was asked for. */
  readonly port?: number
  readonly isStopped: boolean
  /** Its etcd runs for a snapshot although it is stopped. */
  readonly isAwake?: boolean
  readonly snapshots: readonly KeptSnapshot[]
  /** Bytes of the files on the volume of snapshots by slot, also of those whose snapshots were dropped. */
  readonly files?: Readonly<Record<string, number>>
  /** A file that is being written: what it had before counts no longer. */
  readonly taking?: {
    readonly name: string
    readonly slot: number
    readonly version: string
    /** As of a snapshot, from when it began. */
    readonly sealedWith?: number
    /** The last attempt. */
    readonly failed?: { readonly at: number; readonly why: string }
  }
  /** How full its etcd is, and what is done about it. */
  readonly store?: StoreCare
  /** A member that is lost, and its replacement. */
  readonly members?: MemberCare
  readonly restored?: string
  readonly restoring?: Restoring
  /** What the key is that seals its Secrets, where it was replaced. */
  readonly sealed?: SealedRecord
  /** How many were begun. */
  readonly restores?: number
  readonly upgrade?: UpgradeRecord
  readonly blocked: readonly BlockedVersion[]
  /** Since when parts have not been ready, in milliseconds. */
  readonly unready: Readonly<Partial<Record<Part, number>>>
  /** Since when less than a majority of etcd has been ready, in milliseconds. */
  readonly noQuorumSince?: number
  /** It was deleted; only the volume with its snapshots is left, until this time. */
  readonly keptUntil?: number
}

export interface SealedRecord {
  /** All of them were written with this key, as long as no snapshot was restored since. */
  readonly all?: { readonly with: number; readonly restores: number }
  /** The last attempt that did not reach all of them. */
  readonly failed?: { readonly at: number; readonly objects: readonly string[]; readonly why: string }
}

interface Restoring {
  readonly snapshot: string
  readonly slot: number
  readonly token: string
}

/** Counted, since revisions after a second restore of one snapshot must not be those of the first. A snapshot that was begun before may be taken of what comes back. */
export function beginRestore({ taking, ...record }: PlaneRecord, restoring: Restoring): PlaneRecord {
  const { sealedWith: _, ...begun } = taking ?? { name: '' }
  return {
    ...record,
    ...('slot' in begun && { taking: begun }),
    restores: (record.restores ?? 0) + 1,
    restoring,
  }
}

/** Number of the key that seals all Secrets of the store: what an older one sealed may have come back with a restore. */
export const sealsAll = ({ sealed, restores = 0 }: PlaneRecord): number | undefined =>
  sealed?.all?.restores === restores ? sealed.all.with : undefined

/** The record with the namespace that it was read from. */
export interface Kept {
  readonly record: PlaneRecord
  readonly namespace: KubeObject
}

/** Shortened names carry a digest, so that two of them are never one. */
export function planeNamespace(id: string): string {
  const name = `${CONTROL_PLANE_PREFIX}${id.replaceAll('.', '-')}`
  if (name.length <= MOST_NAME_CHARS) return name
  const digest = createHash('sha256').update(id).digest('hex').slice(0, 10)
  return `${name.slice(0, MOST_NAME_CHARS - digest.length - 1)}-${digest}`
}

/** What a person may have edited by hand is not taken for nothing: every other field may be left out. */
const isRecord = (value: unknown): value is PlaneRecord =>
  isObject(value) &&
  ['id', 'owner', 'etcdToken'].every((field) => typeof value[field] === 'string') &&
  ['shape', 'forms', 'unready'].every((field) => isObject(value[field])) &&
  ['snapshots', 'blocked'].every((field) => Array.isArray(value[field]))

/** Of a control plane that runs: to take it for one that does not exist would leave all of it behind, or make another one over it. */
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

  /** `Taken`: the namespace is of another control plane, or was made by a person. */
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

  /** Throws a Conflict when another client wrote in between: nothing was decided about what it wrote. */
  async write({ namespace }: Kept, record: PlaneRecord, signal?: AbortSignal): Promise<Kept> {
    const annotations = { ...namespace.metadata.annotations, [ANNOTATION]: JSON.stringify(record) }
    if (annotations[ANNOTATION] === namespace.metadata.annotations?.[ANNOTATION]) return { record, namespace }
    const next = { ...namespace, metadata: { ...namespace.metadata, annotations } }
    const options = { fieldManager: this.#fieldManager, ...defined({ signal }) }
    return { record, namespace: await this.#client.update(namespaces, next, options) }
  }
}

/** Of a control plane of which only one snapshot is left. */
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
  // The keys that were held are all that it can need: without the oldest of them another one would be made, and open nothing.
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
