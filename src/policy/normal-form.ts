// Turns a rule into what json-rules-engine is asked. The engine knows true and false only, and its `not` makes true of everything that is not
// true, the unknown included: a repair because a reading is missing. So negations are pushed down to the leaves (all and any swap), and a leaf asks
// either `operator` (true for certain?) or `fails:operator` (false for certain?). Both answer no to the unknown; nothing above them negates.
// With Kleene's connectives the engine's yes is then exactly "the rule is true for certain".
import type { Place, ReadAs } from './reading.ts'
import type { Test } from './operators/operator.ts'
import type { Leaf, Term } from './rule.ts'
import { defined } from '#lib/defined.ts'

export const FAILS = 'fails:'

export interface EngineParams {
  readonly readAs: ReadAs
  readonly unknownAs?: string
}

interface EngineLeaf {
  readonly fact: string
  readonly path?: string
  readonly params: EngineParams
  readonly operator: string
  readonly value: Test | { readonly fact: string; readonly path: string; readonly params: EngineParams }
}

type EngineGroup = { readonly all: readonly EngineCondition[] } | { readonly any: readonly EngineCondition[] }
type EngineCondition = EngineLeaf | EngineGroup

export function engineConditions(root: Term): EngineGroup {
  const condition = normal(root, true)
  return 'operator' in condition ? { all: [condition] } : condition
}

function normal(term: Term, positive: boolean): EngineCondition {
  if (term.kind === 'leaf') return engineLeaf(term, positive)
  if (term.kind === 'not') return normal(term.child, !positive)
  const children = term.children.map((child) => normal(child, positive))
  return (term.kind === 'all') === positive ? { all: children } : { any: children }
}

/** The engine copies every condition deeply at each run; a function is passed on as it is, so the value travels as its bound test. */
function engineLeaf({ place, operator, against }: Leaf, positive: boolean): EngineLeaf {
  const { fact, path } = place
  return {
    fact,
    ...(path === '' ? {} : { path }),
    params: paramsOf(place),
    operator: positive ? operator : `${FAILS}${operator}`,
    value:
      against.kind === 'value'
        ? against.bound.test
        : { fact: against.place.fact, path: against.place.path, params: paramsOf(against.place) },
  }
}

const paramsOf = ({ readAs, unknownAs }: Place): EngineParams => ({
  readAs,
  ...defined({ unknownAs }),
})
