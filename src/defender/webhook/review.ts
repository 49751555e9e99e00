// Answers one AdmissionReview with the problems of one of our objects that no CRD can express, in the validator's words. Pure; admits unknown kinds.
import { isObject } from '#lib/json.ts'
import type { ApiKind } from '#api/kind.ts'
import { API_GROUP } from '#api/kind.ts'
import { kindNamed } from '#api/kinds.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineComponentInput } from '#api/kinds/machine-component.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { formatProblem, PROBLEM_CODES } from '#api/problem.ts'
import { requirementCircle } from '#api/requires.ts'
import type { Validator } from '#api/validate.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { clusterVocabulary } from '#policy/cluster-vocabulary.ts'
import { nodeVocabulary } from '#policy/node-vocabulary.ts'
import { releaseVocabulary } from '#policy/release-vocabulary.ts'
import { describeProblem } from '#policy/problem.ts'
import { type AdmissionAnswer, allowed, refused } from './answer.ts'

export interface AdmissionRequest {
  readonly uid: string
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string }
  readonly operation: string
  readonly subResource?: string
  readonly name?: string
  readonly dryRun?: boolean
  readonly userInfo?: unknown
  readonly object?: unknown
  readonly oldObject?: unknown
}

/** Lines of a refusal. A person fixes a few at a time. */
const MOST_LINES = 20
const MAX_UID = 128

/** The request of a review, or why the bytes are not one. */
export function parseReview(value: unknown): AdmissionRequest | string {
  if (!isObject(value) || value['apiVersion'] !== 'admission.k8s.io/v1' || value['kind'] !== 'AdmissionReview')
    return 'send an AdmissionReview of admission.k8s.io/v1'
  const { request } = value
  if (!isObject(request)) return 'the review has no request'
  const { uid, kind, operation } = request
  if (typeof uid !== 'string' || uid === '' || uid.length > MAX_UID) return 'the request has no uid'
  if (!isObject(kind) || typeof kind['group'] !== 'string' || typeof kind['kind'] !== 'string')
    return 'the request has no kind'
  if (typeof operation !== 'string') return 'the request has no operation'
  return request as unknown as AdmissionRequest
}

/** An existing component version of the cluster. Undefined if it does not exist yet. */
export type FindComponent = (component: string, version: string) => MachineComponentInput['spec'] | undefined

export type FindMachine = (name: string) => Pick<Machine, 'metadata'> | undefined

export interface Judge {
  readonly validator: Validator
  readonly findComponent: FindComponent
  readonly findMachine: FindMachine
}

export function review(request: AdmissionRequest, judge: Judge): AdmissionAnswer {
  const lines = problemLines(request, judge)
  if (lines.length === 0) return allowed(request.uid)
  const more = lines.length > MOST_LINES ? [`and ${lines.length - MOST_LINES} more`] : []
  const message = [...lines.slice(0, MOST_LINES), ...more].join('\n')
  return refused(request.uid, { code: 422, reason: 'Invalid', message })
}

function problemLines(
  { kind: asked, operation, subResource, object, oldObject }: AdmissionRequest,
  { validator, findComponent }: Judge,
): readonly string[] {
  const kind = asked.group === API_GROUP ? kindNamed(asked.kind) : undefined
  // We write the statuses, and the schema checks them. Deletions have nothing to validate.
  if (kind === undefined || (operation !== 'CREATE' && operation !== 'UPDATE') || (subResource ?? '') !== '') return []
  // An object that is being deleted must be able to lose its finalizers, whatever else is wrong with it.
  if (isObject(object) && isObject(object['metadata']) && object['metadata']['deletionTimestamp'] !== undefined)
    return []
  const problems = [
    // Policies refuse what is not served yet, but stored objects may keep it.
    ...validator.problems(kind, object).filter((p) => p.code !== PROBLEM_CODES.unserved),
    ...(operation === 'UPDATE' ? validator.updateProblems(kind, oldObject, object) : []),
  ].map(formatProblem)
  return problems.length > 0 ? problems : [...ruleLines(kind, object), ...circleLines(kind, object, findComponent)]
}

/** Circular requirements. Unmet ones are not refused: another set may meet them, and versions may arrive after their set. */
function circleLines({ kind }: ApiKind, object: unknown, findComponent: FindComponent): readonly string[] {
  if (kind !== machineComponentSet.kind) return []
  const { spec } = object as MachineComponentSet
  const known = spec.components.map(({ name, version }) => findComponent(name, version)).filter((c) => c !== undefined)
  const circle = requirementCircle(known)
  if (circle === undefined) return []
  const at = spec.components.findIndex((c) => c.name === circle[0])
  const message = `circular requirement between versions: ${circle.join(' → ')}; declare a version of one of them that requires none of the others`
  return [formatProblem({ code: PROBLEM_CODES.rule, pointer: `/spec/components/${at}`, message })]
}

/**
 * Well-formed rules are compiled as their evaluators do it. A condition that no component reports is refused here; otherwise the rule would never
 * fire.
 */
function ruleLines({ kind }: ApiKind, object: unknown): readonly string[] {
  const spec = isObject(object) ? object['spec'] : undefined
  if (!isObject(spec)) return []
  if (kind === 'NodeRemedier') return compiled('when', spec['when'], '/spec/when', nodeVocabulary())
  if (kind === 'ReleasePipeline') return gateLines(spec['stages'])
  if (kind !== 'DefenderPolicy' || !Array.isArray(spec['rules'])) return []
  return spec['rules'].flatMap((rule, i) =>
    isObject(rule) ? compiled(String(rule['name']), rule['when'], `/spec/rules/${i}/when`, clusterVocabulary) : [],
  )
}

const MOMENTS = ['before', 'gates', 'after'] as const

const items = (value: unknown): readonly Record<string, unknown>[] =>
  Array.isArray(value) ? value.map((each: unknown) => (isObject(each) ? each : {})) : []

const gateLines = (stages: unknown): readonly string[] =>
  items(stages).flatMap((stage, i) =>
    MOMENTS.flatMap((moment) =>
      items(stage[moment]).flatMap(({ name, custom }, n) =>
        isObject(custom)
          ? compiled(String(name), custom['when'], `/spec/stages/${i}/${moment}/${n}/custom/when`, releaseVocabulary)
          : [],
      ),
    ),
  )

function compiled(name: string, when: unknown, at: string, vocabulary: typeof clusterVocabulary): readonly string[] {
  const result = compileRule(name, when, vocabulary)
  return result.ok ? [] : result.problems.map((p) => describeProblem({ ...p, pointer: `${at}${p.pointer}` }))
}
