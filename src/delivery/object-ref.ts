// The identity of an object across versions of its kind: group, kind, namespace, name. Inventories, plans and messages use it.
import type { CommittedContent } from '#api/protocol/committed.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ObjectKey } from '#api/schema/resource.ts'
import { groupOf } from '#api/schema/resource.ts'

export interface ObjectRef {
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** An entry of an inventory. */
export interface InventoryRef extends ObjectRef {
  readonly uid?: string
  /** Start of the digest of the applied content. Absent if it is unknown whether it was applied. */
  readonly digest?: string
  /** Contents that controllers may act on. Absent: the live content. */
  readonly committed?: readonly CommittedContent[]
}

export const refOf = ({ apiVersion, kind, metadata }: KubeObject): ObjectRef => ({
  group: groupOf(apiVersion),
  kind,
  namespace: metadata.namespace ?? '',
  name: metadata.name ?? '',
})

export const keyOfRef = ({ namespace, name }: ObjectRef): ObjectKey => ({
  name,
  ...(namespace !== '' && { namespace }),
})

/** `MachineSet.kubenode.io/workers`, `ConfigMap/default/settings`: unique and readable. */
export const refText = ({ group, kind, namespace, name }: ObjectRef): string =>
  `${kind}${group === '' ? '' : `.${group}`}/${namespace === '' ? '' : `${namespace}/`}${name}`

export const compareRefs = (a: ObjectRef, b: ObjectRef): number => {
  const [x, y] = [a, b].map((r) => `${r.group}\0${r.kind}\0${r.namespace}\0${r.name}`) as [string, string]
  return x < y ? -1 : x > y ? 1 : 0
}
