// The part of ConfigMaps that sealed values need.
import type { KubeObject } from '#api/schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'

export interface ConfigMap extends KubeObject {
  readonly data?: { readonly [key: string]: string }
}

export const configMapType = coreKind<ConfigMap>('ConfigMap')
