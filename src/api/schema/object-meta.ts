// Reads an object's metadata: its name, its key for a client or store, the key as text, and its life cycle.
import { defined } from '#lib/defined.ts'
import type { KubeObject, ObjectMeta } from './object.ts'
import type { ObjectKey } from './resource.ts'

interface Named {
  readonly metadata: ObjectMeta
}

/** Empty for an object that has not been written yet. */
export const nameOf = ({ metadata }: Named): string => metadata.name ?? ''

export const isSameName = (a: Named, b: Named): boolean => a.metadata.name === b.metadata.name

/** The status is about the spec as it is now. */
export const isSpecObserved = ({
  metadata,
  status,
}: Named & { readonly status?: { readonly observedGeneration?: number } }): boolean =>
  status?.observedGeneration === metadata.generation

/** Empty for an object that never came from a server. */
export const uidOf = ({ metadata }: Named): string => metadata.uid ?? ''

/** It is deleted once no finalizer is left. */
export const isBeingDeleted = ({ metadata }: Named): boolean => metadata.deletionTimestamp !== undefined

/** Empty for an object that never came from a server. */
export const createdAt = ({ metadata }: Named): string => metadata.creationTimestamp ?? ''

/** Milliseconds since 1970; NaN for an object that never came from a server. */
export const createdMs = ({ metadata }: Named): number => Date.parse(metadata.creationTimestamp ?? '')

export const objectKey = ({ metadata: { name = '', namespace } }: Named): ObjectKey => ({
  name,
  ...defined({ namespace }),
})

/** `namespace/name`, or just the name if there is no namespace. */
export const keyText = ({ namespace, name }: ObjectKey): string =>
  namespace === undefined || namespace === '' ? name : `${namespace}/${name}`

/** Parses a key's text. */
export function keyFrom(text: string): ObjectKey {
  const at = text.indexOf('/')
  return at < 0 ? { name: text } : { namespace: text.slice(0, at), name: text.slice(at + 1) }
}

/** An object's key as text: equal for equal objects of one kind. */
export const namespacedName = ({ metadata: { name = '', namespace } }: Named): string => keyText({ name, namespace })

/** `Deployment/kubenode`: unique within a namespace. */
export const kindAndName = ({ kind, metadata }: KubeObject): string => `${kind}/${metadata.name ?? ''}`

/** As an API server reads it: no undefined, no classes. */
export const plainObject = (manifest: object): KubeObject => JSON.parse(JSON.stringify(manifest)) as KubeObject
