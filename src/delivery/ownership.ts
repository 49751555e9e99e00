// The owner of an object in a cluster: from sync's mark on it or, for objects of older releases, from the Inventory that lists it. Pure.
import type { Inventory } from '#api/kinds/inventory.ts'
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { refText, type ObjectRef } from './object-ref.ts'
import { isSourceManager, sourceManager } from './manager.ts'
import { defined } from '#lib/defined.ts'

export interface Ownership {
  /** namespace/name of the FleetSource. Absent: no owner, or from an older release and not listed by a source. */
  readonly source?: string
  /** Applied by a release that used one manager for all sources. */
  readonly isUnmarked?: true
}

/** By `refText`: the sources whose Inventories list an object. */
export type Listings = ReadonlyMap<string, ReadonlySet<string>>

export function listingsOf(shards: readonly Inventory[]): Listings {
  const out = new Map<string, Set<string>>()
  for (const { spec } of shards)
    for (const ref of spec.refs) {
      const key = refText(ref)
      out.set(key, (out.get(key) ?? new Set()).add(spec.source))
    }
  return out
}

/** The mark decides. A commit cannot write it, and no source takes an object with another source's mark. */
export function ownershipOf(object: KubeObject, ref: ObjectRef, own: string, listings: Listings): Ownership {
  const mark = object.metadata.annotations?.[ANNOTATIONS.source]
  if (mark !== undefined) return { source: mark }
  if (!isAppliedBy(object, FIELD_MANAGERS.sync)) return {}
  const listed = listings.get(refText(ref)) ?? new Set<string>()
  const [first] = [...listed].toSorted()
  const source = listed.has(own) ? own : first
  return { isUnmarked: true, ...defined({ source }) }
}

/** Whether another writer created an object that is about to be applied: its mark shows that, or nothing shows that an earlier pass created it. */
export function isFound(object: KubeObject, recorded?: { readonly uid?: string; readonly digest?: string }): boolean {
  const { annotations = {}, managedFields = [], uid } = object.metadata
  if (annotations[ANNOTATIONS.found] === 'true') return true
  if (annotations[ANNOTATIONS.source] !== undefined || managedFields.some(isOfSync)) return false
  // An entry recorded before its object was applied has neither. A different uid means that the applied object was deleted.
  const isRecorded = recorded?.uid === undefined ? recorded?.digest !== undefined : recorded.uid === uid
  return !isRecorded && hasOtherWriter(object)
}

/** Objects that a person created with the kubenode command are handed over to git. If a server keeps no managers, assume another client created the object. */
export const hasOtherWriter = ({ metadata: { managedFields = [] } }: KubeObject): boolean =>
  managedFields.length === 0 || managedFields.some((m) => isMain(m) && m.manager !== FIELD_MANAGERS.cli && !isOfSync(m))

export const isOfSync = ({ manager = '' }: Entries[number]): boolean =>
  manager === FIELD_MANAGERS.sync || isSourceManager(manager)

const isAppliedBy = ({ metadata }: KubeObject, manager: string): boolean =>
  metadata.managedFields?.some((m) => m.manager === manager && m.operation === 'Apply' && isMain(m)) === true

const isMain = (entry: { readonly subresource?: string }): boolean => (entry.subresource ?? '') === ''

type Entries = NonNullable<KubeObject['metadata']['managedFields']>

/**
 * Transfers the fields of a former manager to the source. If they stayed with the former manager, they would remain forever when git drops them.
 * Undefined if no former manager applied the object.
 */
export function takenOver(entries: Entries, source: string, former: readonly string[]): Entries | undefined {
  const manager = sourceManager(source)
  const isFormer = (m: Entries[number]) => m.operation === 'Apply' && isMain(m) && former.includes(m.manager ?? '')
  const [first] = entries.filter(isFormer)
  if (first === undefined) return undefined
  const hasOwn = entries.some((m) => m.manager === manager && m.operation === 'Apply' && isMain(m))
  return entries.flatMap((m) => (isFormer(m) ? (m === first && !hasOwn ? [{ ...m, manager }] : []) : [m]))
}

/** Managers whose fields the source takes over: those of older releases, and of the sources that it replaces. */
export const formerManagers = (replaces: readonly string[]): readonly string[] => [
  FIELD_MANAGERS.sync,
  ...replaces.map(sourceManager),
]
