// The actions of the node lifecycle controller.
import type { Condition } from '#api/schema/object.ts'
import type { Node } from '#nodes/objects.ts'

export type LifecycleCondition = Omit<Condition, 'observedGeneration'>

export interface WriteConditions {
  readonly kind: 'WriteConditions'
  readonly reason: string
  readonly node: Node
  /** Changed conditions only. */
  readonly conditions: readonly LifecycleCondition[]
}
