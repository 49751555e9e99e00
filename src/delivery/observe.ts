// Reads the input of a plan for one cluster: its inventory, its live objects, and the component versions in use.
import type { Cluster } from '#api/kinds/cluster.ts'
import { type ComponentCanary, componentCanary } from '#api/kinds/component-canary.ts'
import { inventory } from '#api/kinds/inventory.ts'
import type { Inventory } from '#api/kinds/inventory.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { API_GROUP } from '#api/kind.ts'
import { contentOf, keptContent } from '#api/protocol/committed.ts'
import { defined } from '#lib/defined.ts'
import { componentObjectName } from '#lib/names.ts'
import { allowing } from '#declared/committed.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { holdsMachines, isCluster, machinesWith } from './machine-loss.ts'
import { compareRefs, refText, type InventoryRef, type ObjectRef } from './object-ref.ts'
import type { DesiredObject, Rejected } from './desired.ts'
import { listingsOf, ownershipOf, type Listings } from './ownership.ts'
import { listAll } from '#kube/list-all.ts'
import type { ClusterConnection } from './connection.ts'
import { coversDeclared } from './covers.ts'
import { readRefs } from './read-kind.ts'
import { inventoryRefs, takenRefs, type TakeOver } from './inventory.ts'
import type { Live, LiveObject } from './diff.ts'
import {
  belongsTo,
  ofOtherTracks,
  otherTarget,
  type DeclaredIn,
  type InventoryOwner,
  type OtherTarget,
} from './targets.ts'

export interface Observed {
  readonly shards: readonly Inventory[]
  readonly inventory: readonly InventoryRef[]
  /** Shards from which this pass takes references over. */
  readonly takeOver: TakeOver
  readonly other: OtherTarget
  readonly otherTracks: ReadonlyMap<string, InventoryRef>
  readonly live: ReadonlyMap<string, Live>
  /** By `refText`: the whole objects that were read, for health. */
  readonly objects: ReadonlyMap<string, KubeObject>
  readonly referenced: ReadonlySet<string>
  /** All machines of the cluster, if a deletion may take machines with it. */
  readonly machines: readonly Machine[]
}

export interface ObserveOrder {
  readonly owner: InventoryOwner
  readonly desired: readonly DesiredObject[]
  /** Declared but invalid. */
  readonly rejected: readonly Rejected[]
  /** What the source declares for other targets. Absent: nothing. */
  readonly declaredIn?: DeclaredIn
  /** Deleted sources whose objects are taken over and, by `refText`, what other tracks declare. */
  readonly replaces?: readonly string[]
  readonly elsewhere: ReadonlySet<string>
  /** Recorded objects that are not read. */
  readonly skips?: (ref: ObjectRef) => boolean
  readonly now: number
  readonly signal?: AbortSignal
}

export async function observeCluster(connection: ClusterConnection, order: ObserveOrder): Promise<Observed> {
  const { owner, desired, rejected, declaredIn, replaces = [], elsewhere, skips = () => false, now, signal } = order
  const call = signal === undefined ? {} : { signal }
  const shards = await listAll(connection.program, inventory, call)
  const named = new Set([...desired, ...rejected].map(({ ref }) => refText(ref)))
  const own = inventoryRefs(shards, owner, named)
  const belongs = belongsTo({ shards, owner, replaces, desired: named, declaredIn })
  const takeOver = { replaces, elsewhere, belongs }
  const refs = uniqueRefs([...own, ...takenRefs(shards, owner, takeOver)])
  const marks: Marks = { source: owner.source, listings: listingsOf(shards) }
  const read = refs.filter((ref) => !skips(ref))
  const wanted = new Map<string, ObjectRef>([...read, ...desired.map((d) => d.ref)].map((r) => [refText(r), r]))
  const { live, objects } = await readLive(connection, [...wanted.values()], desired, { marks, signal })
  await withAllowed(connection, live, objects, now, signal)
  const declared = new Set(desired.map((d) => refText(d.ref)))
  const undeclared = read.filter((r) => !declared.has(refText(r)))
  const mayPrune = undeclared.some((r) => r.group === API_GROUP && r.kind === 'MachineComponent')
  const referenced = mayPrune ? await referencedComponents(connection, signal) : new Set<string>()
  const losesMachines = undeclared.some((r) => holdsMachines(r) && isThere(live.get(refText(r))))
  const machines = losesMachines ? await listAll(connection.program, machine, call) : []
  const other = otherTarget(shards, owner, declaredIn)
  const otherTracks = ofOtherTracks(shards, owner)
  return { shards, inventory: refs, takeOver, other, otherTracks, live, objects, referenced, machines }
}

/** The first one counts: this source's own record has more information. */
const uniqueRefs = (refs: readonly InventoryRef[]): readonly InventoryRef[] => {
  const byName = new Map<string, InventoryRef>()
  for (const ref of refs) if (!byName.has(refText(ref))) byName.set(refText(ref), ref)
  return [...byName.values()].toSorted(compareRefs)
}

interface Marks {
  readonly source: string
  readonly listings: Listings
}

const isThere = (live: Live | undefined): boolean => typeof live === 'object' && !live.isDeleting

async function readLive(
  { client, types }: ClusterConnection,
  refs: readonly ObjectRef[],
  desired: readonly DesiredObject[],
  { marks, signal }: { readonly marks: Marks; readonly signal: AbortSignal | undefined },
) {
  const declared = new Map(desired.map((d) => [refText(d.ref), d.object]))
  const found = await readRefs(
    { client, types, ...defined({ signal }) },
    refs,
    (ref) => declared.get(refText(ref))?.apiVersion,
  )
  const live = new Map<string, Live>()
  const objects = new Map<string, KubeObject>()
  for (const ref of refs) {
    const key = refText(ref)
    const object = found.get(key) ?? 'Unknown'
    if (typeof object === 'string') {
      live.set(key, object)
      continue
    }
    const ownership = ownershipOf(object, ref, marks.source, marks.listings)
    const machines = isCluster(ref) ? { machines: machinesWith(object as KubeObject & Cluster) } : {}
    live.set(key, { ...liveOf(object, declared.get(key)), ...ownership, ...machines })
    objects.set(key, object)
  }
  return { live, objects }
}

function liveOf(object: KubeObject, declared: KubeObject | undefined): LiveObject {
  const { uid = '', resourceVersion = '', annotations = {}, deletionTimestamp } = object.metadata
  const content = contentOf(object)
  return {
    uid,
    resourceVersion,
    commit: annotations[ANNOTATIONS.commit],
    matches: declared === undefined || matchesDeclared(declared, object, content),
    ...defined({ content }),
    ...(annotations[ANNOTATIONS.found] === 'true' && { isFound: true as const }),
    isDeleting: deletionTimestamp !== undefined,
  }
}

/** Applying the declaration would change nothing. */
export const matchesDeclared = (declared: KubeObject, live: KubeObject, found = contentOf(live)): boolean =>
  coversDeclared(declared, live) && hasDeclaredContent(declared, live, found)

/** If an edit would roll out, a field that git does not set counts as an edit too. Replicas that git does not set do not. */
export function hasDeclaredContent(declared: KubeObject, live: KubeObject, found = contentOf(live)): boolean {
  const wanted = contentOf(declared)
  if (wanted === undefined) return true
  const kept = keptContent(declared)
  return (
    found?.digest === wanted.digest &&
    (wanted.replicas === undefined || wanted.replicas === found.replicas) &&
    (kept === undefined || live.metadata.annotations?.[ANNOTATIONS.committed] === kept)
  )
}

/** Contents that a hold currently allows to act. */
async function withAllowed(
  { program: client }: ClusterConnection,
  live: Map<string, Live>,
  objects: ReadonlyMap<string, KubeObject>,
  now: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const edited = [...live].flatMap(([key, l]) =>
    typeof l === 'object' && !l.matches && l.content !== undefined ? [[key, l, l.content] as const] : [],
  )
  if (edited.length === 0) return
  const holds = await listAll(client, operationalHold, signal === undefined ? {} : { signal })
  for (const [key, l, content] of edited) {
    const object = objects.get(key)
    if (object !== undefined && allowing(holds, object, content, now) !== undefined)
      live.set(key, { ...l, isAllowed: true })
  }
}

async function referencedComponents(
  { program: client }: ClusterConnection,
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<string>> {
  const call = signal === undefined ? {} : { signal }
  return componentsInUse(await listAll(client, machine, call), await listAll(client, componentCanary, call))
}

/** Names of MachineComponents that machines and canaries still use. */
export function componentsInUse(
  machines: readonly Machine[],
  canaries: readonly Pick<ComponentCanary, 'spec'>[],
): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { spec, status } of machines) {
    for (const { name, version } of spec.components ?? []) names.add(componentObjectName(name, version))
    for (const { name, version } of status?.components ?? [])
      if (version !== undefined) names.add(componentObjectName(name, version))
  }
  for (const { spec } of canaries)
    for (const { name, version } of spec.components) names.add(componentObjectName(name, version))
  return names
}
