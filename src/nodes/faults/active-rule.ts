// Which version of a NodeRemedier is evaluated: the newest that compiles, otherwise the last good one, which is kept as a ControllerRevision.
import { type NodeRemedier, type NodeRemedierSpec, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { type Validator, createValidator } from '#api/validate.ts'
import { defined } from '#lib/defined.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import type { BuiltIn } from '#kube/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { selectorOf, matchesSelector } from '#kube/selector.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { nodeVocabulary } from '#policy/node-vocabulary.ts'
import { describeProblem } from '#policy/problem.ts'
import type { CompiledRule } from '#policy/rule.ts'
import type { Edit } from '#declared/committed.ts'
import { sha256OfJson } from '#lib/sha256.ts'

export type ControllerRevision = BuiltIn['ControllerRevision']

export const controllerRevisionType = coreKind('ControllerRevision')

/** On a ControllerRevision: the NodeRemedier whose rule it keeps. The name may be longer than a label value. */
export const REMEDIER_ANNOTATION = 'kubenode.io/remedier'

export interface ActiveRule {
  readonly name: string
  readonly generation: number
  readonly spec: NodeRemedierSpec
  readonly commit?: string
  readonly rule: CompiledRule
  /** The ControllerRevision that keeps it. */
  readonly revision: string
  readonly selects: (labels: Readonly<Record<string, string>> | undefined) => boolean
}

export interface RuleReading {
  readonly remedier: NodeRemedier
  /** Undefined: there was never a good one. */
  readonly active: ActiveRule | undefined
  /** Why the newest version is not evaluated. */
  readonly problem?: string
  /** The rule was edited. The declared version is evaluated. */
  readonly edit?: Edit
}

export const remedierOf = (revision: ControllerRevision): string =>
  revision.metadata.annotations?.[REMEDIER_ANNOTATION] ?? ''

const HELD = 'the rule differs from git'

/** Rules whose latest result is cached. A dropped rule is compiled again. */
const MOST_REMEMBERED = 1_000

/**
 * Caches compiled rules by their object. If only the status changed, returns the same rule as before, so that callers that keep verdicts by rule need
 * not evaluate ten thousand nodes again because a count was reported.
 */
export class RuleBook {
  readonly #validator: Validator = createValidator()
  readonly #vocabulary = nodeVocabulary()
  readonly #compiled = new WeakMap<object, ActiveRule | string>()
  /** By name. */
  readonly #last = new Map<string, { readonly remedier: NodeRemedier; readonly compiled: ActiveRule | string }>()

  /** `isHeld`: git's declaration is unknown, so the last good rule is evaluated. */
  read(remedier: NodeRemedier, revisions: readonly ControllerRevision[], isHeld = false): RuleReading {
    const newest = isHeld ? HELD : this.#compileOnce(remedier, () => this.#newest(remedier))
    if (typeof newest !== 'string') return { remedier, active: newest }
    const kept = revisions
      .filter((r) => remedierOf(r) === remedier.metadata.name && isOwnedBy(r, remedier))
      .toSorted((a, b) => b.revision - a.revision)
    for (const revision of kept) {
      const active = this.#compileOnce(revision, () => this.#compileKept(remedier, revision))
      if (typeof active !== 'string') return { remedier, active, problem: newest }
    }
    return { remedier, active: undefined, problem: newest }
  }

  #compileOnce(object: object, compile: () => ActiveRule | string): ActiveRule | string {
    const known = this.#compiled.get(object)
    if (known !== undefined) return known
    const compiled = compile()
    this.#compiled.set(object, compiled)
    return compiled
  }

  #newest(remedier: NodeRemedier): ActiveRule | string {
    const name = remedier.metadata.name ?? ''
    const last = this.#last.get(name)
    const compiled = last !== undefined && isSameRule(last.remedier, remedier) ? last.compiled : this.#compile(remedier)
    this.#last.delete(name)
    this.#last.set(name, { remedier, compiled })
    const [oldest] = this.#last.keys()
    if (this.#last.size > MOST_REMEMBERED && oldest !== undefined) this.#last.delete(oldest)
    return compiled
  }

  #compileKept(
    remedier: NodeRemedier,
    { data, revision, metadata: { name } }: ControllerRevision,
  ): ActiveRule | string {
    if (!isObject(data) || !isObject(data['spec'])) return 'the stored revision contains no rule'
    const { annotations: _, ...metadata } = remedier.metadata
    const commit = typeof data['commit'] === 'string' ? { annotations: { [ANNOTATIONS.commit]: data['commit'] } } : {}
    const spec = data['spec'] as unknown as NodeRemedierSpec
    const kept = { ...remedier, metadata: { ...metadata, ...commit, generation: revision }, spec }
    return revisionName(kept) === name ? this.#compile(kept) : 'the stored revision is not named by its rule'
  }

  #compile(remedier: NodeRemedier): ActiveRule | string {
    const { apiVersion, kind, metadata, spec } = remedier
    const name = metadata.name ?? ''
    const [problem] = this.#validator.problems(nodeRemedier, { apiVersion, kind, metadata: { name }, spec })
    if (problem !== undefined) return `${problem.pointer || 'it'}: ${problem.message}`
    const compiled = compileRule(name, spec.when, this.#vocabulary)
    if (!compiled.ok) return compiled.problems.slice(0, 1).map(describeProblem).join('')
    const { nodeSelector } = spec
    const requirements = nodeSelector === undefined ? [] : selectorOf(nodeSelector)
    const commit = metadata.annotations?.[ANNOTATIONS.commit]
    return {
      name,
      generation: metadata.generation ?? 0,
      spec,
      ...defined({ commit }),
      rule: compiled.rule,
      revision: revisionName(remedier),
      selects: (labels) => matchesSelector(requirements, labels),
    }
  }
}

/** Compares everything that goes into a compiled rule. */
const isSameRule = (a: NodeRemedier, b: NodeRemedier): boolean =>
  a.apiVersion === b.apiVersion &&
  a.metadata.uid === b.metadata.uid &&
  a.metadata.generation === b.metadata.generation &&
  a.metadata.annotations?.[ANNOTATIONS.commit] === b.metadata.annotations?.[ANNOTATIONS.commit] &&
  jsonEqual(a.spec, b.spec)

const isOwnedBy = (revision: ControllerRevision, { kind, metadata }: NodeRemedier): boolean =>
  revision.metadata.ownerReferences?.some((o) => o.kind === kind && o.uid === metadata.uid) === true

/** Long names are cut. The digest distinguishes them. */
const NAME_CHARS = 180

export function revisionName({ metadata: { name = '', uid = '' }, spec }: NodeRemedier): string {
  const digest = sha256OfJson([uid, spec]).slice(0, 12)
  return `rule-${withoutEnd(name.slice(0, NAME_CHARS), /[-.]/)}-${digest}`
}
