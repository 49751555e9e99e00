// The Inventory `install`: what the installer brought to this cluster, so that the next release takes away what it no longer has, and uninstall finds all. Pure.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Inventory, InventoryInput } from '#api/kinds/inventory.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { digestOf, shortDigest } from '#delivery/desired.ts'
import { compareRefs, type InventoryRef, refOf, refText, type ObjectRef } from '#delivery/object-ref.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Release } from './release.ts'

export const INSTALL_INVENTORY = 'install'

export const objectsOf = ({ definitions, objects }: Release): readonly KubeObject[] => [...definitions, ...objects]

/** Forty digits, as the id of a commit: two releases with the same objects are the same. */
export const releaseId = (release: Release): string =>
  digestOf(objectsOf(release).toSorted((a, b) => compareRefs(refOf(a), refOf(b)))).slice(0, 40)

/** Before anything is written that only this object remembers: what was there, and all that is about to be. */
export const refsAhead = (seen: readonly InventoryRef[], release: Release): readonly InventoryRef[] =>
  sorted([...objectsOf(release).map(refOf), ...seen])

/** After: what is there, with the UIDs that deletions are held to. */
export function refsWhenDone(
  release: Release,
  uids: ReadonlyMap<string, string>,
  left: readonly InventoryRef[],
): readonly InventoryRef[] {
  const own = objectsOf(release).map((o): InventoryRef => {
    const ref = refOf(o)
    const uid = uids.get(refText(ref))
    return { ...ref, ...defined({ uid }), digest: shortDigest(digestOf(o)) }
  })
  return sorted([...left, ...own])
}

/** Of two runs at once. The UID that another run recorded may be of an object that was made again: the label tells whose it is. */
export const refsTogether = (own: readonly InventoryRef[], other: readonly InventoryRef[]): readonly InventoryRef[] =>
  sorted([...other, ...own].map(({ uid: _uid, ...ref }) => ref))

/** The last one of an object counts. */
const sorted = (refs: readonly InventoryRef[]): readonly InventoryRef[] =>
  [...new Map(refs.map((r) => [refText(r), r])).values()].toSorted(compareRefs)

/** Undefined when nothing changed: a second run writes nothing. */
export function inventoryWrite(
  found: Inventory | undefined,
  refs: readonly InventoryRef[],
  commit: string | undefined,
  now: number,
): InventoryInput | undefined {
  const isSame =
    found !== undefined && jsonEqual(found.spec.refs.map(plain), refs.map(plain)) && found.spec.commit === commit
  if (isSame) return undefined
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Inventory',
    metadata: { name: INSTALL_INVENTORY },
    spec: {
      source: INSTALL_INVENTORY,
      track: INSTALL_INVENTORY,
      shard: 0,
      shards: 1,
      ...defined({ commit }),
      appliedAt: timestamp(now),
      refs: refs.map(plain),
    },
  }
}

const plain = ({ group, kind, namespace, name, uid, digest }: InventoryRef): ObjectRef & InventoryRef => ({
  group,
  kind,
  namespace,
  name,
  ...defined({ uid, digest }),
})
