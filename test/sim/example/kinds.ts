// Two made-up kinds for the example: a Parent wants so many Children of a version; a Child turns ready by itself.
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { FakeKind } from '#test/doubles/kube/kinds.ts'

export interface Parent extends KubeObject {
  readonly spec: { readonly replicas: number; readonly version: string; readonly maxUnavailable: number }
  readonly status?: ParentStatus
}

export interface ParentStatus {
  readonly observedGeneration?: number
  readonly ready: number
  readonly updated: number
  readonly problem?: string
}

export interface Child extends KubeObject {
  readonly spec: { readonly version: string }
  readonly status?: { readonly ready: boolean }
}

const GROUP = 'example.kubenode.io'
export const parentType: ResourceType<Parent> = {
  group: GROUP,
  version: 'v1',
  kind: 'Parent',
  plural: 'parents',
  namespaced: false,
}
export const childType: ResourceType<Child> = {
  group: GROUP,
  version: 'v1',
  kind: 'Child',
  plural: 'children',
  namespaced: false,
}

export const exampleKinds: readonly FakeKind[] = [
  { type: parentType, status: true },
  { type: childType, status: true },
]

export const FINALIZER = `${GROUP}/children`
export const PARENT_LABEL = `${GROUP}/parent`
/** A version whose children never turn ready. */
export const BROKEN_VERSION = 'broken'

export const childName = (parent: string, index: number): string => `${parent}-${index}`
export const isOwnedBy = (child: Child, parent: Parent): boolean =>
  child.metadata.ownerReferences?.some((o) => o.uid === parent.metadata.uid) ?? false
export const isReady = (child: Child): boolean =>
  child.status?.ready === true && child.metadata.deletionTimestamp === undefined
