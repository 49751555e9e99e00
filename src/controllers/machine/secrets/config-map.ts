// The part of ConfigMaps that sealed values need.
import type { BuiltIn } from '#kube/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'

export type ConfigMap = BuiltIn['ConfigMap']

export const configMapType = coreKind('ConfigMap')
