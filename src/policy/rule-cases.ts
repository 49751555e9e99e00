// Checks a rule against its cases: whether each gives the stated result, whether the rule fires in one and not in another, and whether every leaf
// decides at least one case.
import type { RuleCase } from '#api/rule-case.ts'
import { type Explanation, type LeafExplanation, explainTerm } from './explanation.ts'
import { nodeFacts } from './node-vocabulary.ts'
import type { Facts } from './reading.ts'
import type { CompiledRule } from './rule.ts'
import { type Verdict, conjunction, disjunction, negate } from './verdict.ts'
import { defined } from '#lib/defined.ts'

/** The time at which every case is evaluated; times in cases refer to it. */
export const CASES_NOW = Date.parse('2026-01-31T12:00:00Z')

export const CASE_VERDICTS: Readonly<Record<RuleCase['verdict'], Verdict>> = {
  fires: 'true',
  'does not fire': 'false',
  unknown: 'unknown',
}

export function caseFacts({
  conditions,
  labels = {},
  taints = [],
  unschedulable = false,
  versions,
  facts,
}: RuleCase): Facts {
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node', labels },
    spec: { unschedulable, taints: taints.map((key) => ({ key, effect: 'NoSchedule' })) },
    status: conditions === undefined ? {} : { conditions },
  }
  return { ...nodeFacts(node), ...defined({ versions }), ...facts }
}

export const explainCase = (rule: CompiledRule, one: RuleCase): Explanation =>
  explainTerm(rule.root, caseFacts(one), CASES_NOW)

/** The values that a case lacks: those of undecidable leaves, by the names that a rule uses. */
export const undecidedIn = (e: Explanation): readonly string[] => [
  ...new Set(
    leavesOf(e)
      .filter((leaf) => leaf.verdict === 'unknown')
      .map(({ fact, path }) => `${fact}${path}`),
  ),
]

export interface LeafCoverage {
  readonly pointer: string
  readonly text: string
  readonly isTrue: boolean
  readonly isFalse: boolean
  /** In at least one case, inverting only this leaf changes the rule's verdict. */
  readonly decides: boolean
}

export function coverageOf(rule: CompiledRule, cases: readonly RuleCase[]): readonly LeafCoverage[] {
  const trees = cases.map((c) => explainCase(rule, c))
  return leavesOf(explainTerm(rule.root, {}, CASES_NOW)).map(({ pointer, fact, path, operator }) => {
    const seen = trees.flatMap((t) => leavesOf(t).filter((l) => l.pointer === pointer)).map((l) => l.verdict)
    return {
      pointer,
      text: `${fact}${path} ${operator}`,
      isTrue: seen.includes('true'),
      isFalse: seen.includes('false'),
      decides: trees.some((t) => verdictFlipped(t, pointer) !== t.verdict),
    }
  })
}

export const isCovered = ({ isTrue, isFalse, decides }: LeafCoverage): boolean => isTrue && isFalse && decides

/** What is wrong, in sentences; empty when the rule and its cases agree. */
export function caseProblems(rule: CompiledRule, cases: readonly RuleCase[]): readonly string[] {
  const wrong = cases.flatMap((c) => {
    const { verdict } = explainCase(rule, c)
    const wanted = CASE_VERDICTS[c.verdict]
    return verdict === wanted ? [] : [`case ${JSON.stringify(c.name)}: the rule is ${verdict}, not ${wanted}`]
  })
  const missing = (['fires', 'does not fire'] as const).flatMap((verdict) =>
    cases.some((c) => c.verdict === verdict) ? [] : [`no case in which the rule ${verdict}`],
  )
  const uncovered = coverageOf(rule, cases).flatMap((leaf) => {
    if (isCovered(leaf)) return []
    const lacks = [
      ...(leaf.isTrue ? [] : ['never true']),
      ...(leaf.isFalse ? [] : ['never false']),
      ...(leaf.decides ? [] : ['never decides']),
    ]
    return [`leaf ${leaf.pointer} (${leaf.text}) is ${lacks.join(', ')} in any case`]
  })
  return [...wrong, ...missing, ...uncovered]
}

const leavesOf = (e: Explanation): readonly LeafExplanation[] =>
  e.kind === 'leaf' ? [e] : e.children.flatMap(leavesOf)

/** The verdict of the tree with this one leaf inverted. */
function verdictFlipped(e: Explanation, pointer: string): Verdict {
  if (e.kind === 'leaf') return e.pointer === pointer ? negate(e.verdict) : e.verdict
  const verdicts = e.children.map((c) => verdictFlipped(c, pointer))
  if (e.kind === 'not') return negate(verdicts[0] ?? 'unknown')
  return e.kind === 'all' ? conjunction(verdicts) : disjunction(verdicts)
}
