// Rules that can never fire because nothing in their fleet sets a condition that they read, and conditions of monitors that no rule reads. Pure.
import { conditionsReportedBy } from '#api/agent-config/config-problems.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { kindNamed } from '#api/kinds.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { AGENT_CONFIG_KEY, isAgentConfigMap } from '#api/agent-config/agent-config-map.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import { ANNOTATIONS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { nodeVocabulary } from '#policy/node-vocabulary.ts'
import { pointerTokens } from '#policy/pointer.ts'
import type { Term } from '#policy/rule.ts'
import { agentConfigIn } from './agent-config.ts'
import { type ConditionSources, conditionSources } from './condition-sources.ts'
import { declaredErrors } from './declared-errors.ts'
import { type DeclaredProblem, doubtful } from './problem.ts'
import { conditionsIn, isKnownCondition } from './rules.ts'

interface Declared {
  /** Of KubeNode kinds, with defaults. */
  readonly ours: readonly KubeObject[]
  readonly all: readonly KubeObject[]
  /** Texts of agent.json beside the objects. */
  readonly agentConfigs: readonly string[]
  readonly reported: ReadonlySet<string>
}

export function unsetConditionProblems({ ours, all, agentConfigs, reported }: Declared): readonly DeclaredProblem[] {
  const rules = ours.filter((o): o is NodeRemedier => o.kind === 'NodeRemedier').flatMap(withTree)
  const sources = conditionSources(ours, [...agentConfigs, ...agentConfigIn(all)])
  return [
    ...(sources === undefined ? [] : rules.flatMap((r) => unsetIn(r, sources, reported))),
    ...(rules.length === 0 ? [] : unreadIn(all, readBy(rules, ours))),
  ]
}

/** What a cluster's objects tell about conditions, beside the rules themselves. */
export interface FleetConditions {
  /** By rule that can never be true: the conditions that nothing sets, each with a hint why. Undefined: git does not declare what the agents report. */
  readonly unset: ReadonlyMap<string, readonly { readonly type: string; readonly hint: string }[]> | undefined
  /** Conditions that have no rule, with a reason. */
  readonly excused: ReadonlySet<string>
  /** Conditions that stop a rollout. */
  readonly watched: ReadonlySet<string>
}

export function fleetConditions(all: readonly KubeObject[]): FleetConditions {
  const ours = all.flatMap((o): readonly KubeObject[] => {
    const kind = o.apiVersion === API_GROUP_VERSION ? kindNamed(o.kind) : undefined
    return kind === undefined ? [] : [applyDefaults(kind.schema, o) as KubeObject]
  })
  const rules = ours.filter((o): o is NodeRemedier => o.kind === 'NodeRemedier').flatMap(withTree)
  const sources = conditionSources(ours, agentConfigIn(all))
  return {
    unset:
      sources &&
      new Map(
        rules.flatMap((rule) => {
          const named = [...new Set(unsetTypes(rule, sources).map((c) => c.type))]
          const name = rule.object.metadata.name ?? ''
          return named.length === 0 ? [] : [[name, named.map((type) => ({ type, hint: sources.hint(type) }))] as const]
        }),
      ),
    excused: new Set(all.filter(isAgentConfigMap).flatMap((object) => [...reasonsOf(object)])),
    watched: readBy([], ours),
  }
}

interface Rule {
  readonly object: NodeRemedier
  readonly root: Term
}

/** A rule that does not compile is refused elsewhere. */
function withTree(object: NodeRemedier): readonly Rule[] {
  const compiled = compileRule(object.metadata.name ?? '', object.spec.when, nodeVocabulary())
  return compiled.ok ? [{ object, root: compiled.rule.root }] : []
}

function unsetIn(
  { object, root }: Rule,
  sources: ConditionSources,
  reported: ReadonlySet<string>,
): readonly DeclaredProblem[] {
  const rule = object.metadata.name ?? ''
  const unset = unsetTypes({ object, root }, sources).filter(
    // An unknown type is reported for itself.
    ({ type }, n, asked) => isKnownCondition(type, reported) && asked.findIndex((a) => a.type === type) === n,
  )
  return unset.map(({ type, pointer }) =>
    doubtful(
      { object, pointer: `/spec/when${pointer}`, words: [type, rule] },
      declaredErrors.KN3066_unset({
        rule,
        type,
        hint: sources.hint(type),
        annotation: ANNOTATIONS.conditionsElsewhere,
      }),
    ),
  )
}

/** Empty if the rule can be true. */
function unsetTypes({ object, root }: Rule, sources: ConditionSources): ReturnType<typeof conditionsIn> {
  const isSet = (type: string) => sources.canBeSet(type, object)
  return canBeTrue(root, isSet) ? [] : conditionsIn(root).filter(({ type }) => !isSet(type))
}

/** Whether a rule can be true if only these conditions are ever set. */
export const canBeTrue = (root: Term, isSet: (type: string) => boolean): boolean => canBe(root, true, isSet)

const OF_PRESENCE: ReadonlySet<string> = new Set(['exists', 'absent'])

/** A condition that nothing sets is unknown, which is neither true nor false, and its negation is unknown too. */
function canBe(term: Term, value: boolean, isSet: (type: string) => boolean): boolean {
  if (term.kind === 'not') return canBe(term.child, !value, isSet)
  if (term.kind !== 'leaf') {
    const needsEvery = (term.kind === 'all') === value
    return needsEvery
      ? term.children.every((child) => canBe(child, value, isSet))
      : term.children.some((child) => canBe(child, value, isSet))
  }
  const { fact, path } = term.place
  const [type] = pointerTokens(path) ?? []
  return fact !== 'conditions' || type === undefined || OF_PRESENCE.has(term.operator) || isSet(type)
}

/** Also what rollouts watch: a condition that stops a rollout has an effect. */
function readBy(rules: readonly Rule[], objects: readonly KubeObject[]): ReadonlySet<string> {
  const sets = objects.filter((o): o is MachineComponentSet => o.kind === 'MachineComponentSet')
  return new Set([
    ...rules.flatMap(({ root }) => conditionsIn(root).map((c) => c.type)),
    ...sets.flatMap(({ spec }) =>
      (spec.rollout?.inspections ?? []).flatMap(({ conditionAbsent }) => conditionAbsent?.type ?? []),
    ),
  ])
}

function unreadIn(all: readonly KubeObject[], read: ReadonlySet<string>): readonly DeclaredProblem[] {
  return all.filter(isAgentConfigMap).flatMap((object) => {
    const excused = reasonsOf(object)
    const types = new Set(agentConfigIn([object]).flatMap((text) => [...conditionsReportedBy(text)]))
    return [...types]
      .filter((type) => !read.has(type) && !excused.has(type))
      .map((type): DeclaredProblem => ({
        ...doubtful(
          { object, pointer: `/data/${AGENT_CONFIG_KEY}`, words: [type] },
          declaredErrors.KN3077({ type, annotation: ANNOTATIONS.withoutRule }),
        ),
        isNote: true,
      }))
  })
}

/** A type without a reason does not count. */
const reasonsOf = ({ metadata }: KubeObject): ReadonlySet<string> =>
  new Set(
    (metadata.annotations?.[ANNOTATIONS.withoutRule] ?? '')
      .split(';')
      .flatMap((entry) => /^\s*([^:\s]+):\s*\S/.exec(entry)?.[1] ?? []),
  )
