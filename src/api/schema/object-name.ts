// What an object is called: its name, its key for a client or a store, and that key as text.
import { defined } from '#lib/defined.ts'
import type { KubeObject, ObjectMeta } from './object.ts'
import type { ObjectKey } from './resource.ts'

interface Named {
  readonly metadata: ObjectMeta
}

/** Empty for an object that was not written yet. */
export const nameOf = ({ metadata }: Named): string => metadata.name ?? ''

export const objectKey = ({ metadata: { name = '', namespace } }: Named): ObjectKey => ({
  name,
  ...defined({ namespace }),
})

/** `namespace/name`, or the name alone where there is no namespace. */
export const keyText = ({ namespace, name }: ObjectKey): string =>
  namespace === undefined || namespace === '' ? name : `${namespace}/${name}`

/** Of a key's text. */
export function keyFrom(text: string): ObjectKey {
  const at = text.indexOf('/')
  return at < 0 ? { name: text } : { namespace: text.slice(0, at), name: text.slice(at + 1) }
}

/** The key of an object as text: equal for equal objects of one kind. */
export const namespacedName = ({ metadata: { name = '', namespace } }: Named): string => keyText({ name, namespace })

/** `Deployment/kubenode`: tells the objects of one namespace apart. */
export const kindAndName = ({ kind, metadata }: KubeObject): string => `${kind}/${metadata.name ?? ''}`
