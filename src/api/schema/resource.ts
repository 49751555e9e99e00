// Identifies a kind of the API: its URL and, for the type checker only, the type of its objects.
import type { KubeObject } from './object.ts'
import type { Schema } from './schema.ts'

export interface ResourceType<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  /** Set if the schema is KubeNode's own. */
  readonly schema?: Schema
  /** Never set; carries the objects' type. */
  readonly objectType?: T
}

export interface ObjectKey {
  readonly namespace?: string | undefined
  readonly name: string
}

export const apiVersionOf = (t: Pick<ResourceType, 'group' | 'version'>): string =>
  t.group === '' ? t.version : `${t.group}/${t.version}`

/** `/api/v1/nodes`, `/apis/apps/v1/namespaces/x/deployments`, without the name. */
export function collectionPath(t: ResourceType, namespace?: string): string {
  const root = t.group === '' ? `/api/${t.version}` : `/apis/${t.group}/${t.version}`
  const ns = t.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return `${root}${ns}/${t.plural}`
}

export function objectPath(t: ResourceType, key: ObjectKey, subresource?: string): string {
  const tail = subresource === undefined ? '' : `/${subresource}`
  return `${collectionPath(t, key.namespace)}/${encodeURIComponent(key.name)}${tail}`
}

/** `machine.kubenode.io`: before a name, as kubectl prints it. */
export const qualifiedKind = ({ group, kind }: Pick<ResourceType, 'group' | 'kind'>): string =>
  group === '' ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`

/** `machines.kubenode.io`: the printed form of a kind, because plain plurals collide with other projects'. */
export const qualifiedPlural = (t: Pick<ResourceType, 'group' | 'plural'>): string =>
  t.group === '' ? t.plural : `${t.plural}.${t.group}`

/** Empty for the core group. */
export const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : ''
