// The Inventory `install`: what the installer brought to this cluster, so that the next release removes what it no longer has, and uninstall finds all. Pure.
import { compareRefs, type InventoryRef, refText } from '#delivery/object-ref.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Release } from './release.ts'

export const INSTALL_INVENTORY = 'install'

export const objectsOf = ({ definitions, objects }: Release): readonly KubeObject[] => [...definitions, ...objects]

/** Of two runs at once. The UID that another run recorded may be of an object that was made again: the label tells whose it is. */
export const refsTogether = (own: readonly InventoryRef[], other: readonly InventoryRef[]): readonly InventoryRef[] =>
  [...new Map([...other, ...own].map(({ uid: _uid, ...ref }) => [refText(ref), ref])).values()].toSorted(compareRefs)
