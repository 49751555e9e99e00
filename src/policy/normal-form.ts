// Turns a rule into the form that json-rules-engine evaluates. The engine only knows true and false, and its `not` turns everything that is not true
// into true, including unknown: that would start a repair because a reading is missing. So negations are pushed down to the leaves (all and any swap),
// and a leaf evaluates either `operator` (certainly true?) or `fails:operator` (certainly false?). Both return no for unknown, and nothing above them
// negates. With Kleene's connectives, the engine's yes then means exactly "the rule is certainly true".
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

/** The engine copies every condition deeply for each run, but passes functions on unchanged. So the value is passed as its bound test. */
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
