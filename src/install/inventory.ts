// The Inventory `install`: what the installer created in this cluster, so that the next release can delete what it no longer has, and uninstall finds
// everything. Pure.
import { compareRefs, type InventoryRef, refText } from '#delivery/object-ref.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Release } from './release.ts'

export const INSTALL_INVENTORY = 'install'

export const objectsOf = ({ definitions, objects }: Release): readonly KubeObject[] => [...definitions, ...objects]

/** Merges the records of two concurrent runs. A recorded UID may belong to an object that was recreated; the label shows the owner. */
export const refsTogether = (own: readonly InventoryRef[], other: readonly InventoryRef[]): readonly InventoryRef[] =>
  [...new Map([...other, ...own].map(({ uid: _uid, ...ref }) => [refText(ref), ref])).values()].toSorted(compareRefs)
