// A compiled MutatingAdmissionPolicy: its expressions, compiled once, and the problems that make it invalid.
import type { FieldError } from '../schema/field-error.ts'
import type { KubeObject } from '#api/schema/object.ts'
import {
  admissionScope,
  APPLY_CONFIGURATION,
  compileAdmission,
  compileMutation,
  JSON_PATCHES,
  MUTATION_LIBRARY,
  type AdmissionScope,
  type MatchCondition,
} from '../machinery.ts'
import { fields, listOfFields, word } from './compiled-policy.ts'

export interface CompiledMutation {
  readonly patchType: 'ApplyConfiguration' | 'JSONPatch'
  readonly program: MatchCondition['program']
}

export interface CompiledMutations {
  readonly name: string
  readonly spec: Readonly<Record<string, unknown>>
  readonly scope: AdmissionScope
  readonly conditions: readonly MatchCondition[]
  readonly mutations: readonly CompiledMutation[]
  readonly ignoresFailure: boolean
  /** Called again when a later mutation changed the object. */
  readonly isReinvoked: boolean
  readonly problems: readonly FieldError[]
}

export function compileMutations(policy: KubeObject): CompiledMutations {
  const spec = fields(policy['spec'])
  const scope = admissionScope({
    hasParams: spec['paramKind'] !== undefined,
    library: MUTATION_LIBRARY,
    variables: listOfFields(spec['variables']).map((v) => ({
      name: word(v['name']),
      expression: word(v['expression']),
    })),
  })
  const problems: FieldError[] = [...scope.problems]
  const conditions = listOfFields(spec['matchConditions']).flatMap((c, i) => {
    const compiled = compileAdmission(word(c['expression']), scope, ['bool'], `spec.matchConditions[${i}].expression`)
    if (compiled.ok) return [{ name: word(c['name']), program: compiled.program }]
    problems.push(compiled.problem)
    return []
  })
  const mutations = listOfFields(spec['mutations']).flatMap((m, i): readonly CompiledMutation[] => {
    const isApply = m['patchType'] === 'ApplyConfiguration'
    const part = isApply ? 'applyConfiguration' : 'jsonPatch'
    const expression = word(fields(m[part])['expression']).trim()
    // an empty expression is reported by the validation of the kind
    if (expression === '') return []
    const wanted = isApply ? APPLY_CONFIGURATION : JSON_PATCHES
    const compiled = compileMutation(expression, scope, wanted, `spec.mutations[${i}].${part}.expression`)
    if (compiled.ok) return [{ patchType: isApply ? 'ApplyConfiguration' : 'JSONPatch', program: compiled.program }]
    problems.push(compiled.problem)
    return []
  })
  return {
    name: policy.metadata.name ?? '',
    spec,
    scope,
    conditions,
    mutations,
    ignoresFailure: spec['failurePolicy'] === 'Ignore',
    isReinvoked: spec['reinvocationPolicy'] === 'IfNeeded',
    problems,
  }
}
