// Names in a few words the condition that keeps a rule from being true. Pure.
import { shown, type Explanation, type LeafExplanation } from './explanation.ts'

/** Undefined when the rule is true. */
export function notTrueBecause(explanation: Explanation): string | undefined {
  if (explanation.verdict === 'true') return undefined
  const { leaf, isNegated } = deciding(explanation, false)
  const { fact, path, operator, wanted, seen, because } = leaf
  const asked = wanted === undefined ? '' : ` ${shown(wanted)}`
  const against = 'against' in leaf ? ` = ${shown(leaf.against)}` : ''
  const condition = `${isNegated ? 'not ' : ''}${fact}${path} ${operator}${asked}${against}`
  return `${condition}: ${because ?? `observed ${shown(seen)}`}`
}

interface Deciding {
  readonly leaf: LeafExplanation
  readonly isNegated: boolean
}

/** The first condition that does not have the required verdict; if there are several, one is enough to start with. */
function deciding(explanation: Explanation, isNegated: boolean): Deciding {
  if (explanation.kind === 'leaf') return { leaf: explanation, isNegated }
  const isInner = explanation.kind === 'not' ? !isNegated : isNegated
  const needed = isInner ? 'false' : 'true'
  const child = explanation.children.find((c) => c.verdict !== needed) ?? explanation.children[0]
  // A compiled group has at least one condition.
  if (child === undefined) throw new Error('a group without conditions')
  return deciding(child, isInner)
}
