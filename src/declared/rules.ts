// Rules that do not compile or can never be true, and conditions that nothing known reports.
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import { NODE_CONDITIONS, isOfLifecycle } from '#api/node-conditions.ts'
import { NODE_CONDITION_TYPES } from '#api/node-leaves.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { clusterVocabulary } from '#policy/cluster-vocabulary.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { nodeVocabulary } from '#policy/node-vocabulary.ts'
import { pointerTokens } from '#policy/pointer.ts'
import { releaseVocabulary } from '#policy/release-vocabulary.ts'
import { policyErrors } from '#policy/policy-errors.ts'
import { describeProblem } from '#policy/problem.ts'
import type { Term } from '#policy/rule.ts'
import { neverTrue } from '#policy/satisfiable.ts'
import type { Vocabulary } from '#policy/vocabulary.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { declaredErrors } from './declared-errors.ts'
import { type DeclaredProblem, certain, doubtful } from './problem.ts'

const KNOWN: ReadonlySet<string> = new Set([...NODE_CONDITION_TYPES, ...Object.keys(NODE_CONDITIONS)])

/** The fleet's own detectors may report any type, so an unknown type is reported and never refused. `reported`: the types from the agents' configuration. */
export const isKnownCondition = (type: string, reported: ReadonlySet<string>): boolean =>
  KNOWN.has(type) || isOfLifecycle(type) || reported.has(type) || /^(ComponentUnhealthy|LogProblem)(-|$)/.test(type)

export function conditionHint(type: string, reported: ReadonlySet<string>): string {
  const near = didYouMean(type, [...KNOWN, ...reported])
  return near === undefined ? '' : ` (did you mean ${near}?)`
}

export function ruleProblems(
  objects: readonly KubeObject[],
  reported: ReadonlySet<string>,
): readonly DeclaredProblem[] {
  return objects.flatMap((object) => {
    if (object.kind === 'NodeRemedier') return remedierProblems(object as NodeRemedier, reported)
    if (object.kind === 'DefenderPolicy') return policyProblems(object as DefenderPolicy)
    if (object.kind === 'ReleasePipeline') return gateProblems(object as ReleasePipeline)
    if (object.kind === 'MachineComponentSet') return inspectionProblems(object as MachineComponentSet, reported)
    return []
  })
}

interface Written {
  readonly object: KubeObject
  readonly name: string
  readonly when: unknown
  readonly at: string
}

/** Its problems, and its tree if it compiles. */
function compiled({ object, name, when, at }: Written, vocabulary: Vocabulary) {
  const result = compileRule(name, when, vocabulary)
  if (!result.ok) {
    const problems = result.problems.map((p): DeclaredProblem => ({
      object,
      pointer: `${at}${p.pointer}`,
      code: p.code,
      // The pointer already has the place.
      message: describeProblem(p).replace(/^KN\d+: at (?:the top|\S+): /, ''),
      isCertain: true,
      words: [name],
    }))
    return { root: undefined, problems }
  }
  const { root } = result.rule
  const never = neverTrue(root, vocabulary)
  if (never === undefined) return { root, problems: [] }
  const where = { object, pointer: `${at}${never.pointers[0] ?? ''}`, words: [name] }
  return { root, problems: [certain(where, policyErrors.KN4001_never({ why: never.message }))] }
}

function remedierProblems(object: NodeRemedier, reported: ReadonlySet<string>): readonly DeclaredProblem[] {
  const name = object.metadata.name ?? ''
  const { root, problems } = compiled({ object, name, when: object.spec.when, at: '/spec/when' }, nodeVocabulary())
  const asked = root === undefined ? [] : conditionsIn(root).map((c) => ({ ...c, pointer: `/spec/when${c.pointer}` }))
  const types = asked.map((c) => c.type)
  const verified = verifiedConditions(object.spec.ladder)
  const misnamed = verified.filter(({ type }) => meantCondition(type, types, reported) !== undefined)
  const unknown = unknownConditions(object, [...asked, ...verified.filter((v) => !misnamed.includes(v))], reported)
  const details = misnamed.map(({ type, pointer }) => {
    const message = declaredErrors.KN3066_verified({ type, near: meantCondition(type, types, reported) ?? '' })
    return doubtful({ object, pointer, words: [type, name] }, message)
  })
  return [...problems, ...details, ...unknown]
}

export const verifiedConditions = (ladder: NodeRemedier['spec']['ladder']): readonly Named[] =>
  ladder.flatMap(({ verify }, rung) =>
    verify.conditionCleared === undefined
      ? []
      : [{ type: verify.conditionCleared, pointer: `/spec/ladder/${rung}/verify/conditionCleared` }],
  )

/** The rule's condition that a verification probably means: a condition that is never reported looks cleared immediately. */
export const meantCondition = (
  type: string,
  ofRule: readonly string[],
  reported: ReadonlySet<string>,
): string | undefined =>
  KNOWN.has(type) || reported.has(type) || ofRule.includes(type) ? undefined : didYouMean(type, ofRule)

/** A policy whose rule does not compile blocks every disruption. */
const policyProblems = (object: DefenderPolicy): readonly DeclaredProblem[] =>
  (object.spec.rules ?? []).flatMap(
    ({ name, when }, i) => compiled({ object, name, when, at: `/spec/rules/${i}/when` }, clusterVocabulary).problems,
  )

const MOMENTS = ['before', 'gates', 'after'] as const

/** A gate whose rule does not compile never opens. */
const gateProblems = (object: ReleasePipeline): readonly DeclaredProblem[] =>
  object.spec.stages.flatMap((stage, i) =>
    MOMENTS.flatMap((moment) =>
      (stage[moment] ?? []).flatMap(({ name, custom }, n) => {
        const at = `/spec/stages/${i}/${moment}/${n}/custom/when`
        return custom === undefined ? [] : compiled({ object, name, when: custom.when, at }, releaseVocabulary).problems
      }),
    ),
  )

const inspectionProblems = (object: MachineComponentSet, reported: ReadonlySet<string>): readonly DeclaredProblem[] =>
  unknownConditions(
    object,
    (object.spec.rollout?.inspections ?? []).flatMap(({ conditionAbsent }, i) =>
      conditionAbsent === undefined
        ? []
        : [{ type: conditionAbsent.type, pointer: `/spec/rollout/inspections/${i}/conditionAbsent/type` }],
    ),
    reported,
  )

interface Named {
  readonly type: string
  readonly pointer: string
}

function unknownConditions(
  object: KubeObject,
  named: readonly Named[],
  reported: ReadonlySet<string>,
): readonly DeclaredProblem[] {
  const unknown = new Map(
    named
      .filter(({ type }) => !isKnownCondition(type, reported))
      .toReversed()
      .map((n) => [n.type, n]),
  )
  return [...unknown.values()].map(({ type, pointer }) =>
    doubtful({ object, pointer, words: [type] }, declaredErrors.KN3066({ type, hint: conditionHint(type, reported) })),
  )
}

/** Condition types that a rule reads. */
export function conditionsIn(term: Term): readonly Named[] {
  if (term.kind === 'leaf') {
    const [type] = pointerTokens(term.place.path) ?? []
    return term.place.fact === 'conditions' && type !== undefined ? [{ type, pointer: term.pointer }] : []
  }
  return (term.kind === 'not' ? [term.child] : term.children).flatMap(conditionsIn)
}
