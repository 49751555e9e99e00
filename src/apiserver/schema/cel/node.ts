// A checked expression: names are slots, calls know their candidates, macros are loops. What the planner turns into closures.
import type { Overload } from './functions.ts'
import type { CelType, ObjectType } from './types.ts'
import type { CelValue } from './values.ts'

export type FoldKind =
  | 'all'
  | 'exists'
  | 'existsOne'
  | 'map'
  | 'filter'
  | 'transformList'
  | 'transformMap'
  | 'transformMapEntry'

export interface Fold {
  readonly op: 'fold'
  readonly kind: FoldKind
  readonly type: CelType
  readonly range: Node
  /** Slot of the element or, in the form with two variables, of the index or key. */
  readonly slot: number
  /** Slot of the value in the form with two variables. */
  readonly slot2: number | undefined
  /** The condition of quantifiers and filters. */
  readonly predicate: Node | undefined
  /** What a transforming loop makes of each element. */
  readonly transform: Node | undefined
}

export type Node =
  | { readonly op: 'const'; readonly type: CelType; readonly value: CelValue }
  | { readonly op: 'slot'; readonly type: CelType; readonly slot: number; readonly name: string }
  | {
      readonly op: 'select'
      readonly type: CelType
      readonly operand: Node
      readonly field: string
      readonly optional: boolean
    }
  | { readonly op: 'test'; readonly type: CelType; readonly operand: Node; readonly field: string }
  | {
      readonly op: 'call'
      readonly type: CelType
      readonly name: string
      readonly overloads: readonly Overload[]
      readonly args: readonly Node[]
    }
  | { readonly op: 'and' | 'or'; readonly type: CelType; readonly terms: readonly Node[] }
  | {
      readonly op: 'ternary'
      readonly type: CelType
      readonly cond: Node
      readonly yes: Node
      readonly no: Node
    }
  | { readonly op: 'list'; readonly type: CelType; readonly items: readonly Node[] }
  | { readonly op: 'map'; readonly type: CelType; readonly entries: readonly (readonly [Node, Node])[] }
  | { readonly op: 'message'; readonly type: ObjectType; readonly fields: readonly (readonly [string, Node])[] }
  /** An optional entry of a list or a map; the type is that of what is inside. */
  | { readonly op: 'entry'; readonly type: CelType; readonly value: Node }
  | Fold
  /** optMap and optFlatMap: the body over what is inside an optional. */
  | {
      readonly op: 'optMap'
      readonly type: CelType
      readonly operand: Node
      readonly slot: number
      readonly body: Node
      readonly flat: boolean
    }
