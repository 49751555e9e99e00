// The plan of a KubeNode release for a cluster: all of its objects are applied again, and objects that the previous release delivered and this one no
// longer has are deleted. Pure.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Inventory, InventoryInput } from '#api/kinds/inventory.ts'
import { ANNOTATIONS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { sha256Hex } from '#lib/sha256.ts'
import { type DesiredObject, desiredOf } from './desired.ts'
import type { Live } from './diff.ts'
import { plainRef } from './inventory.ts'
import { type InventoryRef, refOf, refText } from './object-ref.ts'
import { type ClusterPlan, planCluster } from './plan.ts'
import { allowedPrunes } from './prune-guard.ts'

export interface ReleaseSeen {
  /** What earlier releases delivered. */
  readonly inventory: readonly InventoryRef[]
  /** By `refText`: those that this release does not have. */
  readonly live: ReadonlyMap<string, Live>
}

/** Deleting these would delete everything inside. */
export const NEVER_PRUNED: ReadonlySet<string> = new Set([
  'Namespace',
  'CustomResourceDefinition',
  'PersistentVolumeClaim',
])

/** `source` names the Inventory. A release needs no approval: the user who updates KubeNode has agreed to it. */
export const planRelease = (
  source: string,
  objects: readonly KubeObject[],
  { inventory, live }: ReleaseSeen,
): ClusterPlan =>
  planCluster(
    {
      desired: objects.map(desiredOnce),
      inventory,
      live,
      rejected: [],
      elsewhere: new Set(),
      referenced: new Set(),
      approved: new Set(),
      machines: [],
    },
    {
      commit: releaseId(objects),
      source,
      target: 'Member',
      prune: { enabled: true, guard: '100%' },
      neverPruned: NEVER_PRUNED,
      drift: 'Off',
      isRepeated: true,
    },
  )

const known = new WeakMap<KubeObject, DesiredObject>()

/** The objects of a release have some 600 KB. They are read once, and a hub gives the same ones to each of its clusters. */
function desiredOnce(object: KubeObject): DesiredObject {
  const desired = known.get(object) ?? desiredOf(object)
  known.set(object, desired)
  return desired
}

/** Forty digits, like a commit id. Two releases with the same objects are the same. */
export const releaseId = (objects: readonly KubeObject[]): string =>
  sha256Hex(
    objects
      .map(desiredOnce)
      .map(({ ref, digest }) => `${refText(ref)} ${digest}`)
      .toSorted()
      .join('\n'),
  ).slice(0, 40)

export function undeclaredIn(
  inventory: readonly InventoryRef[],
  objects: readonly KubeObject[],
): readonly InventoryRef[] {
  const declared = new Set(objects.map((o) => refText(refOf(o))))
  return inventory.filter((ref) => !declared.has(refText(ref)))
}

interface ReleaseLoss {
  /** An upper limit: objects that others have recreated since are not read here. */
  readonly count: number
  readonly total: number
  readonly limit: number
}

/** More than this share of an installation is no step between two releases: the package is broken, or the settings are for another cluster. */
const MOST_REMOVED = '50%'

/** What the release would delete of earlier releases' objects, and how much the limit permits. */
export function releaseLoss(inventory: readonly InventoryRef[], objects: readonly KubeObject[]): ReleaseLoss {
  const count = undeclaredIn(inventory, objects).filter(({ kind }) => !NEVER_PRUNED.has(kind)).length
  return { count, total: inventory.length, limit: allowedPrunes(MOST_REMOVED, inventory.length) }
}

/**
 * Objects of a release have no owner mark. The recorded UID identifies them or, if none was recorded, `isOurs`. An object that a source has taken
 * over since is marked, and belongs to that source.
 */
export function releaseLive(
  source: string,
  ref: InventoryRef,
  object: KubeObject,
  isOurs: (object: KubeObject) => boolean,
): Live {
  const { uid = '', resourceVersion = '', annotations, deletionTimestamp } = object.metadata
  const own = ref.uid !== undefined || isOurs(object) ? source : undefined
  return {
    uid,
    resourceVersion,
    commit: undefined,
    matches: true,
    isDeleting: deletionTimestamp !== undefined,
    ...defined({ source: annotations?.[ANNOTATIONS.source] ?? own }),
  }
}

/** Undefined if nothing changed: a second run writes nothing. */
export function inventoryWrite(
  source: string,
  found: Inventory | undefined,
  refs: readonly InventoryRef[],
  commit: string | undefined,
  now: number,
): InventoryInput | undefined {
  const plain = refs.map(plainRef)
  if (found !== undefined && found.spec.commit === commit && jsonEqual(found.spec.refs.map(plainRef), plain))
    return undefined
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Inventory',
    metadata: { name: source },
    spec: {
      source,
      track: source,
      shard: 0,
      shards: 1,
      ...defined({ commit }),
      appliedAt: timestamp(now),
      refs: plain,
    },
  }
}
