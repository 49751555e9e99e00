// A compiled rule: the tree as its author wrote it, with every leaf bound to its operator. Immutable; safe for concurrent evaluation.
import type { Json } from '#lib/json.ts'
import type { Bound, Operator } from './operators/operator.ts'
import type { Place } from './reading.ts'

export interface Leaf {
  readonly kind: 'leaf'
  readonly place: Place
  /** As written, decorators included. */
  readonly operator: string
  readonly wanted: Json | undefined
  /** A second fact instead of a value; otherwise the test is bound to the value. */
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
  /** Leaves to evaluate: `for` adds a second one. */
  readonly leafCount: number
}
