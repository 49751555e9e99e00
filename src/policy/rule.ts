// A rule as compiled: the tree that its author wrote, every leaf bound to its operator. Immutable; safe to ask from everywhere at once.
import type { Json } from '#lib/json.ts'
import type { Bound, Operator } from './operators/operator.ts'
import type { Place } from './reading.ts'

export interface Leaf {
  readonly kind: 'leaf'
  readonly place: Place
  /** As written, decorators included. */
  readonly operator: string
  readonly wanted: Json | undefined
  /** A second fact stands where a value would; otherwise the test is bound to the value. */
  readonly against:
    | { readonly kind: 'value'; readonly bound: Bound }
    | { readonly kind: 'fact'; readonly place: Place; readonly compare: NonNullable<Operator['compare']> }
  /** JSON pointer of the leaf in the rule. */
  readonly pointer: string
}

export interface Group {
  readonly kind: 'all' | 'any'
  readonly children: readonly Term[]
  readonly name?: string
}

interface Negation {
  readonly kind: 'not'
  readonly child: Term
  readonly name?: string
}

export type Term = Leaf | Group | Negation

export interface CompiledRule {
  readonly name: string
  readonly definition: Json
  readonly root: Term
  /** As asked: `for` makes a second leaf. */
  readonly leafCount: number
}
