// The part of ConfigMaps that sealed values need.
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'

export interface ConfigMap extends KubeObject {
  readonly data?: { readonly [key: string]: string }
}

export const configMapType: ResourceType<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
}
